import { hit, type Rule } from './rule.ts';

/**
 * Fires when the customer passes on the client's headers (`accept` or `user-agent` is among them) and none of them names a language: every
 * browser sends `accept-language`. Quiet when only selected headers are passed on, such as a TLS fingerprint.
 * Source of the weight: the default rules; low, since apps with their own HTTP stack do not send it either.
 */
export const deviceMissingAcceptLanguage: Rule = {
  code: 'device_missing_accept_language',
  family: 'client',
  weights: { default: 0.1 },
  hint: 'the client names no language',
  quietedBy: 'only selected headers are passed on',
  evaluate({ headers }) {
    if (!headers.has('accept') && !headers.has('user-agent')) return null;
    return (headers.get('accept-language') ?? '').trim() === '' ? hit('no accept-language') : null;
  },
};
