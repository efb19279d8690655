import { hit, type Rule } from './rule.ts';

/**
 * Fires when the caller's own list blocks the fingerprint, without exception.
 * Source: contract, 7.2: it always denies; the engine makes it BLOCK with a score of 100.
 */
export const listBlock: Rule = {
  code: 'list_block',
  family: 'list',
  weights: { default: 1 },
  hint: 'the fingerprint is on your block list',
  quietedBy: 'never',
  evaluate: ({ list, fingerprintHash }) => (list === 'block' ? hit(`block list: ${fingerprintHash}`) : null),
};
