import { REQUEST_PUBLIC_KEY, type RequestMeta } from '../frames/batch-buffer.ts';
import type { AttributeValue } from '../risk/conditions/decision-input.ts';
import type { Facts } from '../risk/facts.ts';
import { type Contribution, fusedScore } from '../risk/fuse.ts';
import { countedAttributes } from '../risk/policy/attributes.ts';
import { evaluateOwnRules, NOTHING_FOUND, type OwnFindings } from '../risk/policy/own-rules.ts';
import type { CompiledPolicy } from '../risk/policy/policy-set.ts';

interface Judged {
  readonly meta: RequestMeta;
  readonly facts: Facts;
  /** As sent. */
  readonly attributes: ReadonlyMap<string, AttributeValue>;
  /** The model's; null without one. */
  readonly probability: number | null;
}

/** Evaluates the rules of the customer's own, after those of the service and the model, whose findings they read. */
export function ownFindings(
  { facts, meta, attributes, probability }: Judged,
  { own, policy }: Pick<CompiledPolicy, 'own' | 'policy'>,
  contributions: readonly Contribution[],
): OwnFindings {
  if (own === null) return NOTHING_FOUND;
  const publicKey = (meta.flags & REQUEST_PUBLIC_KEY) !== 0;
  return evaluateOwnRules(own, {
    facts,
    publicKey,
    attributes: countedAttributes(attributes, policy.attributes, publicKey),
    score: fusedScore(contributions),
    reasons: contributions.map(({ rule }) => rule.code),
    probability,
    inList: () => undefined,
  });
}
