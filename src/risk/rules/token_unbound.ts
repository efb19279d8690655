import { hit, type Rule } from './rule.ts';

/**
 * Fires when the grant of a collector token was issued to another network (/24, /48) than the one that the request names. Low: phones
 * change between Wi-Fi and mobile data. Quiet if one address is IPv4 and the other IPv6, which a browser may use at the same time; if
 * either is unknown or not public; and for a grant with another fault, which has its own rule. Source of the weight: the default rules.
 */
export const tokenUnbound: Rule = {
  code: 'token_unbound',
  family: 'token',
  weights: { default: 0.1 },
  hint: 'the session token was made in another network',
  quietedBy: 'one address is IPv4 and the other IPv6; either is unknown or not public; tokens without a grant',
  evaluate: ({ grant }) => (grant?.isOtherNetwork === true ? hit('the grant belongs to another network') : null),
};
