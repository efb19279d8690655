import { hit, type Rule } from './rule.ts';

/**
 * Fires when the caller's own list allows the fingerprint. It weighs nothing: the engine drops the registry's evidence and responds with
 * ALLOW, and the score still reflects the other evidence.
 * Source: contract, 7.2.
 */
export const listAllow: Rule = {
  code: 'list_allow',
  family: 'list',
  weights: { default: 0 },
  hint: 'the fingerprint is on your allow list',
  quietedBy: 'never',
  evaluate: ({ list, fingerprintHash }) => (list === 'allow' ? hit(`allow list: ${fingerprintHash}`) : null),
};
