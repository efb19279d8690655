import { hit, type Rule } from './rule.ts';

/**
 * Fires when an entry of the caller's own lists allows something of the request and no entry blocks. It weighs nothing: the engine drops
 * the evidence that the entry stands against, and responds with ALLOW where the entry decides.
 * Source: contract, 7.2.
 */
export const listAllow: Rule = {
  code: 'list_allow',
  family: 'list',
  weights: { default: 0 },
  hint: 'something of the request is on your allow list',
  quietedBy: 'never',
  evaluate: ({ list }) => (list === null || list.decides === 'block' ? null : hit(`allow list: ${list.evidence}`)),
};
