import { addHit, type Evaluated, evaluateRules } from '../risk/evaluate.ts';
import type { Contribution } from '../risk/fuse.ts';
import type { CompiledPolicy } from '../risk/policy/policy-set.ts';
import { RULE_INDEX } from '../risk/rules/rule-table.ts';
import { isVerified } from '../risk/signals/claimed-agent.ts';
import type { GatheredFacts } from './gather.ts';

/**
 * Evaluates the rules of a policy. A public key is in every page: its requests can claim any address and agent, so they are never trusted.
 */
export function evaluateUnder(
  { rules, policy, trusted, verified }: CompiledPolicy,
  facts: GatheredFacts,
  publicKey: boolean,
): Evaluated {
  if (publicKey) return evaluateRules(rules, facts, policy);
  const source = trusted === null ? null : trusted.sources.find(facts.ip, facts.userAgent);
  const proof = isVerified(facts.agentProof) ? facts.agentProof : null;
  const part = source === null ? proof && verified : trusted;
  if (part === null) return evaluateRules(rules, facts, policy);
  const evaluated = evaluateRules(part.rules, facts, policy);
  addHit(evaluated, part.rule, 'default', 1, source ?? `${proof?.name} of ${proof?.operator}`);
  // Restores the order of the table of rules for the reasons.
  evaluated.contributions.sort((a, b) => positionOf(a) - positionOf(b));
  return evaluated;
}

function positionOf({ rule }: Contribution): number {
  return RULE_INDEX.get(rule.code) ?? 0;
}
