import { hit, type Rule } from './rule.ts';
import { findTlsClient } from '../signals/tls-fingerprints.ts';

/**
 * Fires when the TLS fingerprint belongs to a known class of client, a browser family or a tool, and the user agent claims a browser of
 * another class. Quiet when either is unknown. On iOS every browser is of class `safari`.
 * Source of the weight: the default rules; low, since antivirus software and inspection proxies cause this too.
 */
export const deviceTlsContradiction: Rule = {
  code: 'device_tls_contradiction',
  family: 'tls',
  weights: { default: 0.3 },
  hint: 'the TLS handshake contradicts the user agent',
  quietedBy: 'either is unknown',
  evaluate({ headers, agent }) {
    if (agent === null || agent.browser === 'other') return null;
    const client = findTlsClient(headers);
    if (client === null) return null;
    const found = client.kind === 'tool' ? client.name : client.family;
    return found === agent.browser ? null : hit(`agent says ${agent.browser}, TLS says ${found}`);
  },
};
