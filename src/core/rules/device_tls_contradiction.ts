import { hit, type Rule } from '../rule.ts';
import { findTlsClient } from '../tls-fingerprints.ts';

/**
 * Fires when the TLS fingerprint belongs to a known class of client and the user agent claims a browser of another class, a
 * tool's included. Quiet when either is not known. On iOS every browser is of class `safari`.
 * Source of the weight: the default rules; low, since antivirus and inspection proxies do this too.
 */
export const deviceTlsContradiction: Rule = {
  code: 'device_tls_contradiction',
  family: 'tls',
  weights: { default: 0.3 },
  hint: 'the TLS handshake contradicts the user agent',
  evaluate({ headers, agent }) {
    if (agent === null || agent.browser === 'other') return null;
    const client = findTlsClient(headers);
    if (client === null) return null;
    const found = client.kind === 'tool' ? client.name : client.family;
    return found === agent.browser ? null : hit(`agent says ${agent.browser}, TLS says ${found}`);
  },
};
