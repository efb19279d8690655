import { type Problem, problem } from '../contract/problem.ts';
import { unreachable, type CustomerNumber } from '../kernel/brand.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { DECIDE_MEMBERS } from '../risk/decide-request.ts';
import { closest } from '../kernel/closest-name.ts';
import {
  OWN_CODE,
  OWN_RULES_COST_MAX,
  OWN_RULES_MAX,
  type OwnRule,
  type TouchedShare,
} from '../risk/policy/own-rule.ts';
import type { Committer } from '../state/feed/changes.ts';
import {
  type OwnRules,
  type RuleTrip,
  ruleTag,
  type StoredRule,
  withoutHistory,
} from '../state/tables/own-rule-table.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import { OwnRuleCounter, type OwnRuleCounts } from '../history/own-rule-counter.ts';
import { DECISION_SCAN_ROWS_MAX } from '../kernel/history-limits.ts';
import { BUSY } from './busy.ts';
import { compileWhen, type ListsOf, showFaults, showListWarnings, showWarnings } from './condition-errors.ts';
import type { KnownLists } from '../risk/conditions/decision-facts.ts';
import { originOf } from './kit/actor.ts';
import { schemaBody } from './kit/body-readers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { AnyRequest, EndpointHandler, EndpointResponse } from './kit/endpoint-types.ts';
import type { BodyOf } from './kit/request-body.ts';
import type { OwnPolicies, OwnPolicy } from './own-policies.ts';
import { predictionOf } from './rule-prediction.ts';

/** Dependencies of the endpoints for rules of the customer's own. Source: contract, 6.8. */
export interface OwnRuleParts {
  readonly policies: Pick<OwnPolicies, 'present'>;
  readonly listsOf: ListsOf;
  readonly rules: Pick<OwnRules, 'find' | 'of'>;
  readonly changes: Committer;
  readonly decisions: Pick<DecisionReader, 'scan'>;
  readonly unreadNames: UnreadNames;
  /** Returns the rules of the policy file that the circuit breaker of this node has set back to `observe`. */
  readonly trippedInFile: (customer: CustomerNumber) => ReadonlyMap<string, RuleTrip>;
}

/** Names in decide requests of a customer that nothing reads. */
interface UnreadNames {
  /** Attributes that no policy declared when they came. */
  undeclaredOf(customer: CustomerNumber): readonly string[];
  /** Members of the top level. */
  ignoredOf(customer: CustomerNumber): readonly string[];
}

const PUT = schemaBody('putRule');
const PATCH = schemaBody('changeRule');
/** Choice: another change of the same rule comes between reading and writing only when two people work on it. */
const PATCH_ATTEMPTS = 5;
const DAY_MS = 86_400_000;

type View = NonNullable<OwnPolicy['view']>;

/** What a rule is shown and checked against. */
interface RuleScope {
  readonly view: View;
  readonly lists: KnownLists;
}

/** Returns the handlers for rules of the customer's own. Source: contract, 6.8. */
export function ownRuleHandlers(
  endpoint: EndpointFactory,
  parts: OwnRuleParts,
): SecretHandlers<'listRules' | 'findRule' | 'putRule' | 'changeRule' | 'deleteRule'> {
  return { ...readingHandlers(endpoint, parts), ...writingHandlers(endpoint, parts) };
}

function readingHandlers(
  endpoint: EndpointFactory,
  { policies, rules, decisions, unreadNames, trippedInFile, listsOf }: OwnRuleParts,
): SecretHandlers<'listRules' | 'findRule'> {
  const fileRules = (customer: CustomerNumber, view: View): readonly ShownRule[] => {
    const tripped = trippedInFile(customer);
    return view.ownRules().map((rule) => asTripped(rule, tripped.get(rule.code)));
  };

  const list: EndpointHandler = async ({ caller, nowMs, coverage }) => {
    const { view } = policies.present(caller.customer);
    const scope = { view, lists: listsOf(caller.customer) };
    const own = rules.of(caller.customer);
    const inFile = view.ruleCodes;
    const ofFile = fileRules(caller.customer, view);
    const counter = new OwnRuleCounter([...ofFile, ...own.rules].map(({ code }) => code));
    const rowsMax = ofFile.length + own.rules.length === 0 ? 0 : DECISION_SCAN_ROWS_MAX;
    const wanted = { sinceMs: nowMs - DAY_MS, untilMs: null, nowMs, rowsMax, coverage };
    const scanned =
      rowsMax === 0
        ? NOTHING_SCANNED
        : await decisions.scan(caller.customer, wanted, (record, bytes, _at, end) => {
            counter.add(record, bytes, end);
            return false;
          });
    if (scanned.kind === 'busy') return BUSY;
    const data = [
      ...ofFile.map((rule) => ({ ...showRule(rule, 'policy', scope), ...showCounts(counter.of(rule.code)) })),
      ...own.rules.map((rule) => ({
        ...showRule(rule, 'api', scope, inFile),
        // A shadowed rule does nothing: the counts are those of the rule of the file.
        ...showCounts(inFile.has(rule.code) ? NO_COUNTS : counter.of(rule.code)),
      })),
    ];
    const since = scanned.oldestMs === null ? null : Math.floor(scanned.oldestMs / 1000);
    const examined = { decisions: scanned.rows, since, is_truncated: scanned.isTruncated || counter.isFull };
    const body = {
      data,
      undeclared_attributes: showUndeclared(unreadNames.undeclaredOf(caller.customer), view),
      ignored_members: unreadNames.ignoredOf(caller.customer).map((name) => withMeant(name, DECIDE_MEMBERS)),
      unreadable: own.unreadable,
      examined,
    };
    return { kind: 'json', status: 200, body };
  };

  const find: EndpointHandler = ({ caller, params }) => {
    const code = params['code'] ?? '';
    const { view } = policies.present(caller.customer);
    const scope = { view, lists: listsOf(caller.customer) };
    const stored = rules.find(caller.customer, code);
    if (stored !== null) return answer(200, stored, scope);
    const ofFile = fileRules(caller.customer, view).find((rule) => rule.code === code);
    return ofFile === undefined ? RULE_NOT_FOUND : answer(200, ofFile, scope, 'policy');
  };

  return { listRules: endpoint({}, list), findRule: endpoint({}, find) };
}

function writingHandlers(
  endpoint: EndpointFactory,
  parts: OwnRuleParts,
): SecretHandlers<'putRule' | 'changeRule' | 'deleteRule'> {
  const { policies, rules, changes } = parts;
  const isInPolicy = (customer: CustomerNumber, code: string): boolean =>
    policies.present(customer).view.ruleCodes.has(code);

  const put: EndpointHandler<BodyOf<typeof PUT>> = (request) => {
    if (request.body.kind === 'problem') return request.body;
    const code = request.params['code'] ?? '';
    if (!OWN_CODE.test(code)) return MALFORMED_CODE;
    const { when, weight = null, decision = null, mode = 'observe', note, ...rest } = request.body.value;
    const { event_types: eventTypes = null, expires_at: expiresAtSeconds = null, predicted } = rest;
    const rule = { code, when, weight, decision, mode, eventTypes, note: note ?? '', expiresAtSeconds };
    return writeRule(parts, request, rule, predicted, readIfMatch(request.ifMatch));
  };

  const change: EndpointHandler<BodyOf<typeof PATCH>> = async (request) => {
    if (request.body.kind === 'problem') return request.body;
    const { customer } = request.caller;
    const code = request.params['code'] ?? '';
    const ifMatch = readIfMatch(request.ifMatch);
    for (let attempt = 0; attempt < PATCH_ATTEMPTS; attempt++) {
      const before = rules.find(customer, code);
      if (before === null) return isInPolicy(customer, code) ? RULE_IN_POLICY : RULE_NOT_FOUND;
      const tag = ruleTag(before);
      if (ifMatch !== null && !ifMatch.includes('*') && !ifMatch.includes(tag)) return STALE;
      const patch = request.body.value;
      const written = await writeRule(parts, request, changed(before, patch), patch.predicted, [tag]);
      if (written !== STALE) return written;
    }
    return STALE;
  };

  const remove: EndpointHandler = async (request) => {
    const { customer } = request.caller;
    const code = request.params['code'] ?? '';
    if (rules.find(customer, code) === null && isInPolicy(customer, code)) return RULE_IN_POLICY;
    const ifMatch = readIfMatch(request.ifMatch);
    const removed = await changes.commit({ kind: 'rule.removed', customer, code, ifMatch }, originOf(request));
    if (removed.kind === 'fault') return removed;
    if (removed.value === 'stale') return STALE;
    return removed.value === 'unknown' ? RULE_NOT_FOUND : { kind: 'empty', status: 204 };
  };

  return {
    putRule: endpoint({ body: PUT }, put),
    changeRule: endpoint({ body: PATCH }, change),
    deleteRule: endpoint({}, remove),
  };
}

/** Checks a rule and writes it. */
async function writeRule(
  { policies, rules, changes, decisions, listsOf }: OwnRuleParts,
  request: AnyRequest,
  given: OwnRule,
  prediction: TouchedShare | null | undefined,
  ifMatch: readonly string[] | null,
): Promise<EndpointResponse> {
  const { customer } = request.caller;
  const { view } = policies.present(customer);
  if (view.ruleCodes.has(given.code)) return RULE_IN_POLICY;
  const scope = { view, lists: listsOf(customer) };
  const fault = conditionFault(given, scope, rules.of(customer).rules);
  if (fault !== null) return { kind: 'problem', problem: fault };
  const before = rules.find(customer, given.code);
  const predicted = await predictionOf(decisions, request, given, prediction, before);
  const rule: OwnRule = predicted === undefined ? given : { ...given, predicted };
  const written = await changes.commit({ kind: 'rule.put', customer, rule, ifMatch }, originOf(request));
  if (written.kind === 'fault') return written;
  const { value } = written;
  switch (value.kind) {
    case 'created':
    case 'replaced':
      return answer(value.kind === 'created' ? 201 : 200, value.rule, scope);
    case 'stale':
      return STALE;
    case 'limit_reached':
      return LIMIT_REACHED;
    default:
      return unreachable(value);
  }
}

/** Returns why the condition cannot be used beside those of the other rules; null if it can. */
function conditionFault(rule: OwnRule, { view, lists }: RuleScope, others: readonly OwnRule[]): Problem | null {
  const declared = view.policyOf('');
  const compiled = compileWhen(rule.when, declared, lists);
  const detail = 'The condition cannot be used.';
  if (compiled.kind === 'faults') {
    const errors = showFaults(compiled.faults).map((error) => ({ pointer: '/when', ...error }));
    return problem('validation_failed', detail, { errors });
  }
  let { cost } = compiled.condition;
  for (const { code, when } of others) {
    const other = code === rule.code ? null : compileWhen(when, declared);
    if (other?.kind === 'ok') cost += other.condition.cost;
  }
  if (cost <= OWN_RULES_COST_MAX) return null;
  const message = `Your rules would take ${cost} steps together; ${OWN_RULES_COST_MAX} are the most.`;
  return problem('validation_failed', detail, { errors: [{ pointer: '/when', code: 'too_costly', message }] });
}

type Patch = Extract<BodyOf<typeof PATCH>, { readonly kind: 'ok' }>['value'];

function changed(before: StoredRule, patch: Patch): OwnRule {
  const { predicted: _predicted, ...rule } = withoutHistory(before);
  const { when, weight, decision, mode, event_types: eventTypes, note, expires_at: expiresAtSeconds } = patch;
  return {
    ...rule,
    ...(when !== undefined && { when }),
    ...(typeof weight === 'number' && { weight, decision: null }),
    ...(typeof decision === 'string' && { decision, weight: null }),
    ...(mode !== undefined && { mode }),
    ...(eventTypes !== undefined && { eventTypes }),
    ...(note !== undefined && { note: note ?? '' }),
    ...(expiresAtSeconds !== undefined && { expiresAtSeconds }),
  };
}

/** Returns the tags of the header, without quotation marks; null without the header. Weak tags never match. Source: RFC 9110, 13.1.1. */
function readIfMatch(text: string): readonly string[] | null {
  if (text === '') return null;
  return text.split(',').flatMap((part) => {
    const tag = part.trim();
    return tag === '*' ? ['*'] : (/^"([^"*]+)"$/.exec(tag)?.slice(1) ?? []);
  });
}

function answer(
  status: 200 | 201,
  rule: OwnRule,
  scope: RuleScope,
  source: 'policy' | 'api' = 'api',
): EndpointResponse {
  const inFile = source === 'api' ? scope.view.ruleCodes : undefined;
  return {
    kind: 'json',
    status,
    body: showRule(rule, source, scope, inFile),
    headers: { ETag: `"${ruleTag(rule)}"` },
  };
}

type ShownRule = OwnRule & Partial<StoredRule>;

function asTripped(rule: OwnRule, tripped: RuleTrip | undefined): ShownRule {
  return tripped === undefined ? rule : { ...rule, mode: 'observe', tripped };
}

function showRule(
  rule: ShownRule,
  source: 'policy' | 'api',
  { view, lists }: RuleScope,
  inFile?: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const { code, when, weight, decision, mode, eventTypes, note, expiresAtSeconds, createdAtMs, updatedAtMs } = rule;
  const { predicted = null, tripped } = rule;
  const declared = view.policyOf('');
  const compiled = compileWhen(when, declared);
  return {
    code,
    when,
    weight,
    decision,
    mode,
    event_types: eventTypes,
    note,
    expires_at: expiresAtSeconds,
    source,
    shadowed: inFile?.has(code) ?? false,
    errors: compiled.kind === 'ok' ? [] : showFaults(compiled.faults),
    warnings:
      compiled.kind === 'ok'
        ? [
            ...showWarnings(when, compiled.condition.facts),
            ...(compiled.condition.lists.length === 0 ? [] : showListWarnings(when, declared, lists)),
          ]
        : [],
    predicted,
    tripped_at: tripped === undefined ? null : Math.floor(tripped.atMs / 1000),
    tripped: tripped === undefined ? null : { touched: tripped.touched, decisions: tripped.decisions },
    created_at: createdAtMs === undefined ? null : Math.floor(createdAtMs / 1000),
    updated_at: updatedAtMs === undefined ? null : Math.floor(updatedAtMs / 1000),
  };
}

function showUndeclared(names: readonly string[], view: View): readonly Readonly<Record<string, string>>[] {
  const declared = Object.keys(view.policyOf('').attributes);
  return names.filter((name) => !declared.includes(name)).map((name) => withMeant(name, declared));
}

function withMeant(name: string, known: readonly string[]): Readonly<Record<string, string>> {
  const meant = closest(name, known);
  return meant === null ? { name } : { name, did_you_mean: meant };
}

function showCounts({ fired, observed, people }: OwnRuleCounts): Readonly<Record<string, unknown>> {
  return { fired_24h: fired, observed_24h: observed, people_24h: people };
}

const NO_COUNTS: OwnRuleCounts = { fired: 0, observed: 0, people: 0 };
const NOTHING_SCANNED = { kind: 'scanned', rows: 0, isTruncated: false, oldestMs: null } as const;

/** The same response for another customer's rule and for one that does not exist. */
const RULE_NOT_FOUND: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'There is no such rule.'),
};

const RULE_IN_POLICY: EndpointResponse = {
  kind: 'problem',
  problem: problem('rule_in_policy', 'The policy file has a rule with this code. Change it there.'),
};

const STALE: EndpointResponse = {
  kind: 'problem',
  problem: problem('precondition_failed', 'The rule has changed. Read it again.'),
};

const LIMIT_REACHED: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', `There are ${OWN_RULES_MAX} rules already. Delete one first.`),
};

const MALFORMED_CODE: EndpointResponse = {
  kind: 'problem',
  problem: problem('validation_failed', 'The code of the rule is not valid.', {
    errors: [
      {
        pointer: '/code',
        code: 'invalid_value',
        message: 'This must be own_ and 1 to 40 lower-case letters, digits or _.',
      },
    ],
  }),
};
