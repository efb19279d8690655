import { problem } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { ConditionFact } from '../risk/conditions/condition.ts';
import { counterFact, DECISION_FACTS } from '../risk/conditions/decision-facts.ts';
import type { DecisionInput } from '../risk/conditions/decision-input.ts';
import { ENTITY_FACTS } from '../risk/conditions/history-facts.ts';
import { typesOf } from '../risk/policy/attributes.ts';
import { counterText, type Declarations } from '../risk/policy/counter-declarations.ts';
import { compileWhen, type ListsOf, showFaults, showWarnings } from './condition-errors.ts';
import { schemaBody } from './kit/body-readers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';
import type { BodyOf } from './kit/request-body.ts';
import type { OwnPolicies } from './own-policies.ts';
import { type RuleSampleParts, sampleCondition } from './rule-sample.ts';

const CHECK = schemaBody('checkRule');

/** Returns the handlers about rules of the customer's own. Source: contract, 6.7. */
export function ruleHandlers(
  endpoint: EndpointFactory,
  {
    policies,
    listsOf,
    ...sampleParts
  }: RuleSampleParts & { readonly policies: Pick<OwnPolicies, 'present'>; readonly listsOf: ListsOf },
): SecretHandlers<'listFacts' | 'checkRule'> {
  const declaredBy = (customer: CustomerNumber): Declarations => policies.present(customer).view.policyOf('');

  const listFacts: EndpointHandler = ({ caller }) => {
    const declared = declaredBy(caller.customer);
    const attributes = [...typesOf(declared.attributes)].map(([name, type]) => ({
      name: `attributes.${name}`,
      type,
      meaning: 'an attribute of the request',
      absent_when: 'the request does not have it, or with another type',
    }));
    const counters = Object.entries(declared.counters).map(([name, one]) =>
      showFact(counterFact(name, counterText(one))),
    );
    const lists = [...(listsOf(caller.customer) ?? [])].map(([name, kind]) => ({
      name: `list.${name}`,
      type: 'list',
      meaning: `a named list of the kind ${kind}; it stands only right of "in"`,
      absent_when: '',
    }));
    const data = [...[...DECISION_FACTS, ...ENTITY_FACTS].map(showFact), ...attributes, ...counters, ...lists];
    return { kind: 'json', status: 200, body: { data } };
  };

  const check: EndpointHandler<BodyOf<typeof CHECK>> = async (request) => {
    const { body, caller } = request;
    if (body.kind === 'problem') return body;
    const { when, sample, event_types: types = null } = body.value;
    const declared = declaredBy(caller.customer);
    const compiled = compileWhen(when, declared, listsOf(caller.customer));
    if (compiled.kind === 'faults') {
      const errors = showFaults(compiled.faults).map((error) => ({ pointer: '/when', ...error }));
      return { kind: 'problem', problem: problem('validation_failed', 'The condition cannot be used.', { errors }) };
    }
    const { facts, cost } = compiled.condition;
    const warnings = showWarnings(when, facts);
    const answer = { ok: true, type: 'boolean', facts: facts.map(({ name }) => name), cost, warnings };
    if (sample !== true) return { kind: 'json', status: 200, body: answer };
    const sampled = await sampleCondition(sampleParts, request, when, types, declared);
    return { kind: 'json', status: 200, body: { ...answer, sample: sampled } };
  };

  return { listFacts: endpoint({}, listFacts), checkRule: endpoint({ body: CHECK }, check) };
}

function showFact({ name, type, unit, meaning, absentWhen }: ConditionFact<DecisionInput>): Record<string, unknown> {
  return { name, type, ...(unit !== undefined && { unit }), meaning, absent_when: absentWhen };
}
