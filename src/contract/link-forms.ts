/** Forms of links and their values in queries, with the messages on the wire. */

export const LINK_VALUE_CHARACTERS_MAX = 4_096;
export const LINK_KIND = /^(?:session|ip|network|fingerprint|entity\.[^:]{1,64})$/u;
export const LINK_KIND_MESSAGE =
  'This must be session, ip, network, fingerprint, or entity. and the name of an entity.';
export const LINK = /^(?:session|ip|network|fingerprint|entity\.[^:]{1,64}):.{1,4096}$/u;
export const LINK_MESSAGE =
  'This must be a kind (session, ip, network, fingerprint or entity.<name>), a colon, and a value.';
export const LINK_VALUE_MESSAGE = `This must be a text of 1 to ${LINK_VALUE_CHARACTERS_MAX} characters.`;
export const LINK_VALUES =
  'The value as it was sent to decide: an identity, a session token, an address or its network (/24, /48), a fingerprint hash. ' +
  'The id of a link in a response is a value too.';

export const TOP_BY =
  /^(?:ip|network|fingerprint|session|identity|country|crawler|event_type|reason|entity\.[^:]{1,64})$/u;
export const TOP_MESSAGE =
  'This must be ip, network, fingerprint, session, identity, country, crawler, event_type, reason, or entity. and the name of an entity.';
