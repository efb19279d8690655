import type { JsonObject } from '../../base/connector.ts';
import { absoluteUrl, isSchemeAndNumber } from '../../read/urls.ts';

/** Choice: longer URLs are traps or contain data. With this limit, the steps of a job also stay under 4 KiB. */
export const PAGE_URL_CHARACTERS_MAX = 800;

export type Address =
  /** Absolute http or https URL. */
  { readonly kind: 'url'; readonly url: string } | { readonly kind: 'fault'; readonly message: string };

/** Parses the address in the input `url`. A bare host name means https. */
export function parseAddress(input: JsonObject): Address {
  const given = typeof input['url'] === 'string' ? input['url'].trim() : '';
  const text =
    /^[a-z][a-z0-9+.-]*:/i.test(given) && !/^[^/?#]+:\d+(?:[/?#]|$)/.test(given) ? given : `https://${given}`;
  const url = absoluteUrl(text, text);
  if (url === null || given === '' || isSchemeAndNumber(given))
    return fault('This must be an absolute http or https URL or a host name.');
  const { username, password } = new URL(text);
  if (username !== '' || password !== '') return fault('This must not contain a user name or a password.');
  if (url.length > PAGE_URL_CHARACTERS_MAX)
    return fault(`This must have at most ${PAGE_URL_CHARACTERS_MAX} characters once encoded.`);
  return { kind: 'url', url };
}

function fault(message: string): Address {
  return { kind: 'fault', message };
}
