import { hit, type Rule } from './rule.ts';

/**
 * Fires when the user agent names a crawler whose operator publishes its addresses or their names, and the address is not among them. Quiet
 * when neither is known. Choice: it weighs nothing until a policy gives it a weight, because a list of ranges
 * that is old makes a real crawler look forged.
 */
export const agentForged: Rule = {
  code: 'agent_forged',
  family: 'client',
  weights: { default: 0 },
  proposedWeight: 0.8,
  hint: 'the user agent names a crawler that does not come from this address',
  quietedBy: 'no ranges of that operator, and no look-up of the name',
  evaluate: ({ agentProof }) => (agentProof?.verified === 'none' ? hit(`${agentProof.name} is not from here`) : null),
};
