import { problem, type FieldError } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { OWN_CODE, type OwnRule } from '../risk/policy/own-rule.ts';
import { parsePolicy } from '../risk/policy/policy-check.ts';
import type { BacktestQueue, BacktestState } from './backtest-port.ts';
import { schemaBody } from './kit/body-readers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler, EndpointResponse } from './kit/endpoint-types.ts';
import { ANY_REQUEST_BODY, type BodyOf } from './kit/request-body.ts';
import { withOptionalBody } from './webhook-handlers.ts';

const BODY = schemaBody('startBacktest');

/** Returns the handlers for backtests of a policy. Source: contract, 9.11. */
export function backtestHandlers(
  endpoint: EndpointFactory,
  queue: BacktestQueue,
): SecretHandlers<'startBacktest' | 'findBacktest' | 'cancelBacktest'> {
  const start: EndpointHandler<BodyOf<typeof BODY>> = ({ body, caller, nowMs }) => {
    if (body.kind === 'problem') return body;
    const { policy = null, rules = null, since, until = null } = body.value;
    const errors = faultsOf(policy, rules);
    if (errors.length > 0) return { kind: 'problem', problem: problem('validation_failed', INVALID, { errors }) };
    const wish = {
      customer: caller.customer,
      policy: policy === null ? null : JSON.stringify(policy),
      rules: rules === null ? null : rules.map(ownRuleOf),
      sinceMs: since * 1_000,
      untilMs: until === null ? nowMs : until * 1_000,
    };
    const started = queue.start(wish, nowMs);
    if (started === null) return TOO_MANY;
    return { kind: 'json', status: 202, body: { id: started.id, status: started.status } };
  };

  const find: EndpointHandler = ({ caller, params }) => show(queue.find(caller.customer, params['id'] ?? ''));
  const cancel: EndpointHandler = ({ caller, params }) => show(queue.cancel(caller.customer, params['id'] ?? ''));

  return {
    startBacktest: endpoint({ body: BODY }, start),
    findBacktest: endpoint({}, find),
    cancelBacktest: withOptionalBody(endpoint, ANY_REQUEST_BODY, cancel),
  };
}

type Given = Exclude<BodyOf<typeof BODY>, { readonly kind: 'problem' }>['value'];
type GivenRule = NonNullable<Given['rules']>[number];

const INVALID = 'The backtest cannot be started.';
const TOO_MANY: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', 'Wait for the end of your other backtests, or cancel them.'),
};
const NOT_FOUND: EndpointResponse = { kind: 'problem', problem: problem('not_found', 'There is no such backtest.') };

/** Rules are checked as those of a policy file: with the same messages, at the same positions. */
function faultsOf(policy: Given['policy'] | null, rules: Given['rules'] | null): FieldError[] {
  if (policy === null && rules === null)
    return [{ pointer: '/policy', code: 'required', message: 'Give policy, rules or both.' }];
  const parts = [
    [policy ?? {}, '/policy'],
    [{ rules: (rules ?? []).map(ruleOfFile) }, ''],
  ] as const;
  return parts.flatMap(([part, prefix]) => {
    const parsed = parsePolicy(JSON.stringify(part));
    if (parsed.kind === 'ok') return [];
    return parsed.faults.map(({ pointer, message }): FieldError => ({
      pointer: `${prefix}${pointer}`,
      code: 'invalid_value',
      message,
    }));
  });
}

/** Absent members are left out, and so is an empty note, which a policy file cannot have. */
function ruleOfFile(rule: GivenRule): object {
  return Object.fromEntries(
    Object.entries(rule).filter(
      ([name, value]) => value !== null && value !== undefined && !(name === 'note' && value === ''),
    ),
  );
}

function ownRuleOf(rule: GivenRule): OwnRule {
  const { code, when, weight = null, decision = null, mode = 'observe', note } = rule;
  const { event_types: eventTypes = null, expires_at: expiresAtSeconds = null } = rule;
  if (!OWN_CODE.test(code)) throw new Error('the code was checked');
  return { code, when, weight, decision, mode, eventTypes, note: note ?? '', expiresAtSeconds };
}

function show(state: BacktestState | null): EndpointResponse {
  if (state === null) return NOT_FOUND;
  const { id, status, progress, replayed, detail, result } = state;
  const body = { id, status, progress, replayed, ...(detail !== '' && { detail }), ...result };
  return { kind: 'json', status: 200, body };
}
