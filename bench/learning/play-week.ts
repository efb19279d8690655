import { learningLinks } from '../../src/history/kept-row.ts';
import type { LearningRow } from '../../src/learn/learning-rows.ts';
import type { DecisionRecord } from '../../src/risk/decision-record.ts';
import { parsePolicy } from '../../src/risk/policy/policy-check.ts';
import { compilePolicies, type PolicySet } from '../../src/risk/policy/policy-set.ts';
import type { ActiveModel } from '../../src/score/model.ts';
import type { TrafficEvent } from '../../scripts/traffic/events.ts';
import { planWeek } from '../../scripts/traffic/week.ts';
import { type EngineParts, openDetectEngine } from '../detect/engine.ts';
import { runSessions } from '../detect/run.ts';
import type { Tally } from '../detect/tally.ts';
import { CustomerLabels, type KnownTruths } from './customer-labels.ts';

/** An event of a played week, as the bench keeps it. */
export interface PlayedEvent {
  readonly event: Pick<TrafficEvent, 'atMs' | 'session' | 'isFirstHours'>;
  readonly eventType: string;
  readonly decision: DecisionRecord['decision'];
  /** 0 to 100. */
  readonly score: number;
  readonly requestId: string;
  readonly features: Buffer | null;
  readonly row: LearningRow;
}

export interface WeekParts {
  readonly geo: EngineParts['geo'];
  readonly seed: number;
  readonly scale: number;
  /** Share of ALLOW decisions whose feature row is kept. */
  readonly allowRate: number;
  readonly weight: number;
  readonly model?: ActiveModel | null;
}

export interface PlayedWeek {
  readonly tally: Tally;
  readonly events: readonly PlayedEvent[];
  readonly policies: PolicySet;
  /** Honest sessions with a BLOCK for which only the model has a weight. */
  readonly blockedByModelAlone: number;
}

/** Choice: the time at which a customer has no history at all. */
const FIRST_HOURS_MS = 3 * 3_600_000;
const DAYS = 7;
const VELOCITY_BYTES = 256 * 2 ** 20;

/** Plays a week through the engine, with the labels that the customers then have. */
export async function playWeek({ geo, seed, scale, allowRate, weight, model = null }: WeekParts): Promise<PlayedWeek> {
  const policies = policiesWith(allowRate, weight);
  const labels = new CustomerLabels(seed);
  const events: PlayedEvent[] = [];
  const blocked = new Set<number>();
  const startOf = new Map<number, number>();
  const engine = openDetectEngine({
    geo,
    policies,
    velocityBytes: VELOCITY_BYTES,
    model,
    onRecord(event, record) {
      const { session, atMs } = event;
      const { number, startsAfterMs } = session.customer;
      // Customers from before the week have no first hours.
      if (!startOf.has(number)) startOf.set(number, startsAfterMs < 0 ? -Infinity : atMs);
      const isFirstHours = atMs - (startOf.get(number) ?? atMs) < FIRST_HOURS_MS;
      events.push(playedEvent(seed, { atMs, session, isFirstHours }, record, labels.of(event, record)));
      const counting = record.contributions.filter((one) => one.weight > 0);
      if (record.decision === 'BLOCK' && counting.every(({ code }) => code === 'model_score') && !session.isAttack)
        blocked.add(session.id);
    },
  });
  const { geo: lookup } = engine;
  const sessions = planWeek(
    { seed, scale, days: DAYS, attacks: true },
    (ip, version) => lookup.lookup(ip, version)?.country ?? null,
  );
  const { tally } = await runSessions({ sessions, engine, reportsOutcomes: true });
  return { tally, events, policies, blockedByModelAlone: blocked.size };
}

function playedEvent(
  seed: number,
  event: PlayedEvent['event'],
  record: DecisionRecord,
  known: KnownTruths,
): PlayedEvent {
  const { requestId, eventType, decision, score } = record;
  const customer = event.session.customer.number;
  const { session } = learningLinks(record);
  // Copied: the record is part of a batch buffer.
  const features = record.features === null ? null : Buffer.from(record.features);
  const row: LearningRow = {
    requestId,
    eventType,
    policyVersion: null,
    atMs: event.atMs,
    session: session === null ? null : `${seed} ${customer} ${session}`,
    ...known,
    isBlocked: decision === 'BLOCK',
    isAllowed: decision === 'ALLOW' || decision === 'ALLOW_WATCH',
    rate: decision === 'ALLOW' ? null : 1,
  };
  return { event, eventType, decision, score, requestId, features, row };
}

function policiesWith(allowRate: number, weight: number): PolicySet {
  const text = JSON.stringify({ version: 'bench', log_features_sample: allowRate, model: { weight } });
  const parsed = parsePolicy(text);
  if (parsed.kind !== 'ok') throw new Error(`the policy of the bench is invalid: ${JSON.stringify(parsed.faults)}`);
  return compilePolicies(parsed.document, () => null);
}
