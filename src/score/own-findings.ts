import { REQUEST_PUBLIC_KEY, REQUEST_SIMULATION, REQUEST_WARM_UP, type RequestMeta } from '../frames/batch-buffer.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { type Decision, DECISIONS } from '../risk/decision.ts';
import type { ParsedRequest } from '../risk/decide-request.ts';
import type { AttributeValue, Facts } from '../risk/facts.ts';
import { type Contribution, fusedScore } from '../risk/fuse.ts';
import { countedAttributes } from '../risk/policy/attributes.ts';
import { evaluateOwnRules, NOTHING_FOUND, type OwnFindings } from '../risk/policy/own-rules.ts';
import type { CompiledPolicy } from '../risk/policy/policy-set.ts';
import type { NamedListMatcher } from '../risk/lists/named-list-matcher.ts';
import { agentVerified } from '../risk/rules/agent_verified.ts';
import { AGENT_ACTIONS, isVerified } from '../risk/signals/claimed-agent.ts';
import type { WorkerPolicies } from './policies.ts';

interface Judged {
  readonly meta: RequestMeta;
  readonly facts: Facts;
  /** The policy under which `facts` has its attributes. */
  readonly active: Pick<CompiledPolicy, 'policy'>;
  /** As sent. */
  readonly attributes: ReadonlyMap<string, AttributeValue>;
  /** The model's; null without one. */
  readonly probability: number | null;
}

/** Evaluates the rules of the customer's own, after those of the service and the model, whose findings they read. */
export function ownFindings(
  { facts, active, meta, attributes, probability }: Judged,
  { own, policy }: Pick<CompiledPolicy, 'own' | 'policy'>,
  contributions: readonly Contribution[],
  lists: Pick<NamedListMatcher, 'has'>,
): OwnFindings {
  const publicKey = (meta.flags & REQUEST_PUBLIC_KEY) !== 0;
  const proof = facts.agentProof ?? null;
  const action = publicKey || !isVerified(proof) ? undefined : policy.agents[proof.purpose];
  const agent = action === undefined ? null : AGENT_ACTIONS[action];
  if (own === null) return agent === null ? NOTHING_FOUND : withAgentDecision(NOTHING_FOUND, agent);
  const customer = meta.customerNumber as CustomerNumber;
  const { nowSeconds } = facts;
  const found = evaluateOwnRules(own, {
    facts,
    publicKey,
    attributes:
      policy === active.policy ? facts.attributes : countedAttributes(attributes, policy.attributes, publicKey),
    score: fusedScore(contributions),
    reasons: contributions.map(({ rule }) => rule.code),
    probability,
    inList: (name, value, kinds) => lists.has({ customer, nowSeconds, name, kinds }, value),
  });
  return agent === null ? found : withAgentDecision(found, agent);
}

/** Adds what the policy says about a verified crawler, as a rule of the customer's own with that decision would. */
function withAgentDecision(found: OwnFindings, decision: Decision): OwnFindings {
  if (decision === 'ALLOW') return found.floor === null ? { ...found, isExempt: true } : found;
  const isMilder = found.floor !== null && DECISIONS.indexOf(found.floor.decision) >= DECISIONS.indexOf(decision);
  return isMilder ? found : { ...found, isExempt: false, floor: { decision, rule: agentVerified } };
}

/** Anyone can sign with a public key, and the others are not real. */
export const NOT_NOTED = REQUEST_PUBLIC_KEY | REQUEST_SIMULATION | REQUEST_WARM_UP;

/**
 * Notes the attributes of a request that do not count because of their type, or because the policy does not declare them, and the members
 * that nothing reads.
 */
export function noteNames(
  { attributes: notes }: Partial<Pick<WorkerPolicies, 'attributes'>>,
  customer: CustomerNumber,
  { flags }: RequestMeta,
  { request, ignored }: Extract<ParsedRequest, { kind: 'request' }>,
  { policy }: Pick<CompiledPolicy, 'policy'>,
): void {
  if (notes === undefined || (flags & NOT_NOTED) !== 0) return;
  if (request.attributes.size > 0) notes.note(customer, request.attributes, policy.attributes);
  if (ignored !== undefined) notes.noteIgnored(customer, ignored);
}
