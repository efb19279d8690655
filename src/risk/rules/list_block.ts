import { hit, type Rule } from './rule.ts';

/**
 * Fires when an entry of the caller's own lists blocks something of the request and no more important one allows it.
 * Source: contract, 7.2: it always denies; the engine makes it BLOCK with a score of 100.
 */
export const listBlock: Rule = {
  code: 'list_block',
  family: 'list',
  weights: { default: 1 },
  hint: 'something of the request is on your block list',
  quietedBy: 'never',
  evaluate: ({ list }) => (list?.decides === 'block' ? hit(`block list: ${list.evidence}`) : null),
};
