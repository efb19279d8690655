import { compileCondition } from '../risk/conditions/compile-condition.ts';
import type {
  CompiledCondition,
  ConditionFact,
  ConditionNames,
  ConditionOutcome,
  ConditionType,
  ConditionValue,
} from '../risk/conditions/condition.ts';
import type { DecidedEvent } from './webhook-event.ts';

/** Conditions of webhooks: which decisions are delivered. Same language as own rules, over the facts of an event. */

export type WebhookFilter = CompiledCondition<DecidedEvent>;

export type FilterFact = ConditionFact<DecidedEvent>;

/** Choice: more than any decision has. */
const REASONS_MAX = 100;

function filterFact(
  name: string,
  type: ConditionType,
  meaning: string,
  read: (event: DecidedEvent) => ConditionValue | null,
  notes: { readonly unit?: string; readonly absentWhen?: string; readonly itemsMax?: number } = {},
): FilterFact {
  return { name, type, meaning, absentWhen: '', ...notes, read: (event) => read(event) ?? undefined };
}

const NO_TOKEN = 'the request has no session token';
const NO_COUNTRY = 'the address is not in the database';

/** All facts of a filter: the fields of the event, and what else is known of its decision. Source: contract, 10.10. */
export const FILTER_FACTS: readonly FilterFact[] = [
  filterFact('event', 'text', 'the event type, the same as `decision`', ({ event }) => event.decision),
  filterFact('decision', 'text', 'the decision', ({ event }) => event.decision),
  filterFact('score', 'number', 'score of the decision', ({ event }) => event.score, { unit: '0 to 100' }),
  filterFact('reasons', 'list', 'codes of the rules that fired', ({ event }) => event.reasons, {
    itemsMax: REASONS_MAX,
  }),
  filterFact('request_id', 'text', 'id of the decision', ({ event }) => event.requestId),
  filterFact('timestamp', 'number', 'time of the decision', ({ event }) => Math.floor(event.occurredAtMs / 1_000), {
    unit: 'Unix seconds',
  }),
  filterFact('event_type', 'text', 'what was decided: login, payment …', ({ detail }) => detail?.eventType),
  filterFact('fingerprint_hash', 'text', 'fingerprint of the device', ({ detail }) => detail?.fingerprintHash, {
    absentWhen: NO_TOKEN,
  }),
  filterFact('ip', 'text', 'address of the visitor', ({ detail }) => detail?.ip, {
    absentWhen: 'the request has no valid address',
  }),
  filterFact('country', 'text', 'country of the address, ISO 3166', ({ detail }) => detail?.country, {
    absentWhen: NO_COUNTRY,
  }),
  filterFact('asn', 'number', 'network of the address', ({ detail }) => detail?.asn, { absentWhen: NO_COUNTRY }),
  filterFact('path', 'text', 'path of the page, at most 100 characters', ({ detail }) => detail?.path, {
    absentWhen: 'the request has no `url`',
  }),
  filterFact('public_key', 'boolean', 'a public key signed the request', ({ detail }) => detail?.publicKey),
  filterFact('would_be', 'text', 'the decision that observe mode replaced', ({ detail }) => detail?.wouldBe, {
    absentWhen: 'the policy does not observe',
  }),
];

const BY_NAME: ReadonlyMap<string, FilterFact> = new Map(FILTER_FACTS.map((one) => [one.name, one]));

const FILTER_NAMES: ConditionNames<DecidedEvent> = {
  known: [...BY_NAME.keys()],
  fact: (path) => BY_NAME.get(path.join('.')) ?? null,
  list: () => 'Filters have no named lists; write the values: country in ["DE", "AT"].',
};

/** Checks and compiles a filter. Total: every text has an outcome. */
export function compileFilter(text: string): ConditionOutcome<DecidedEvent> {
  return compileCondition(text, FILTER_NAMES);
}

/** Returns why a stored filter cannot be read by this build, as text for people; null if it can, or there is none. */
export function filterFaultOf(filter: string | null | undefined): string | null {
  if (filter === null || filter === undefined) return null;
  const compiled = compileFilter(filter);
  return compiled.kind === 'ok' ? null : (compiled.faults[0]?.message ?? 'The filter cannot be read.');
}

/** Returns the condition of a stored filter; null without one, and if this build cannot read it: then every decision is delivered. */
export function storedFilter(filter: string | null | undefined): WebhookFilter | null {
  if (filter === null || filter === undefined) return null;
  const compiled = compileFilter(filter);
  return compiled.kind === 'ok' ? compiled.condition : null;
}
