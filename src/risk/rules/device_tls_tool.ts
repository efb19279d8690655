import { hit, type Rule } from './rule.ts';
import { findTlsClient } from '../signals/tls-fingerprints.ts';

/**
 * Fires when the JA3 or JA4 fingerprint is that of a known tool or library, whatever the user agent claims. Quiet for an unknown value, and
 * for the libraries of mobile apps. Source of the weight: the default rules.
 */
export const deviceTlsTool: Rule = {
  code: 'device_tls_tool',
  family: 'tls',
  weights: { default: 0.5 },
  hint: 'the TLS handshake is that of a tool, not of a browser',
  quietedBy: 'unknown values, libraries of mobile apps',
  evaluate({ headers }) {
    const client = findTlsClient(headers);
    return client?.kind === 'tool' ? hit(`TLS fingerprint of ${client.name}`) : null;
  },
};
