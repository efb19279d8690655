import { type ShareInterval, shareWithInterval } from '../kernel/wilson.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import { type Decision, isStop } from '../risk/decision.ts';
import type { Store } from '../state/feed/open-store.ts';
import { learningLinks } from './kept-row.ts';
import type { Label } from '../risk/judgement.ts';
import { knownLabel } from './known-label.ts';

/** How it is known whether a decision was about a fraud, the surest first. */
export const LABEL_SOURCES = ['label', 'review', 'challenge'] as const;
export type LabelSource = (typeof LABEL_SOURCES)[number];

export interface KnownTruth {
  readonly isFraud: boolean;
  readonly source: LabelSource;
}

/** One decision that the challenger ran beside. */
export interface ComparedDecision {
  /** The session, or the device where the session is not kept. */
  readonly session: string;
  readonly active: Decision;
  readonly challenger: Decision;
  /** Null if nothing says what it was about. */
  readonly truth: KnownTruth | null;
}

/** Sessions of one kind, and the share of them that each model stopped, from SOFT_CHALLENGE on. */
export interface ComparedShares {
  readonly active: ShareInterval;
  readonly challenger: ShareInterval;
}

export interface Comparison {
  readonly decisions: number;
  readonly sessions: number;
  /** Honest sessions: what is stopped is a false alarm. */
  readonly alarms: ComparedShares;
  /** Fraud sessions: what is stopped is caught. */
  readonly catch: ComparedShares;
  /** Fraud sessions by the source of their label; only sources with some. */
  readonly catchBySource: readonly (ComparedShares & { readonly source: LabelSource })[];
  /** Sessions without a label that only one of the two stopped. */
  readonly unlabelled: { readonly sessions: number; readonly onlyActive: number; readonly onlyChallenger: number };
}

export interface Gate {
  readonly name: 'shadow_days' | 'fraud_labels' | 'honest_labels' | 'alarms' | 'catch_by_source' | 'training';
  readonly holds: boolean;
  readonly detail: string;
}

/** Choice: a weekend has other traffic than the days around it. */
const SHADOW_DAYS_MIN = 3;
/** Choice: 0.1 points of honest sessions, about what one more person in a thousand notices. */
const ADDED_ALARMS_MAX = 0.001;
/** Choice: with 50 sessions the interval of the catch is some 14 points to both sides; fewer say nothing. */
const FRAUD_SESSIONS_MIN = 50;
/** Choice: one session is half a point, so that not one more false alarm is allowed up to 1,000 honest sessions. */
const HONEST_SESSIONS_MIN = 200;
const DAY_MS = 86_400_000;

interface Counted {
  active: boolean;
  challenger: boolean;
  truth: KnownTruth | null;
}

/** Compares both models by sessions: a session is stopped if one of its decisions is, and fraud if one is known to be. */
export class ModelComparison {
  readonly #sessions = new Map<string, Counted>();
  #decisions = 0;

  add({ session, active, challenger, truth }: ComparedDecision): void {
    this.#decisions++;
    const counted = this.#sessions.get(session) ?? { active: false, challenger: false, truth: null };
    counted.active ||= isStop(active);
    counted.challenger ||= isStop(challenger);
    if (truth !== null && isSurer(truth, counted.truth)) counted.truth = truth;
    this.#sessions.set(session, counted);
  }

  result(): Comparison {
    const sessions = [...this.#sessions.values()];
    const frauds = sessions.filter(({ truth }) => truth?.isFraud === true);
    const unlabelled = sessions.filter(({ truth }) => truth === null);
    return {
      decisions: this.#decisions,
      sessions: sessions.length,
      alarms: sharesOf(sessions.filter(({ truth }) => truth?.isFraud === false)),
      catch: sharesOf(frauds),
      catchBySource: LABEL_SOURCES.flatMap((source) => {
        const own = frauds.filter(({ truth }) => truth?.source === source);
        return own.length === 0 ? [] : [{ source, ...sharesOf(own) }];
      }),
      unlabelled: {
        sessions: unlabelled.length,
        onlyActive: unlabelled.filter(({ active, challenger }) => active && !challenger).length,
        onlyChallenger: unlabelled.filter(({ active, challenger }) => challenger && !active).length,
      },
    };
  }
}

/** What says what decisions were about. */
export type TruthStores = Pick<Store, 'labels' | 'shadowReviews' | 'outcomes'>;

/** Adds a decision that the challenger `id` ran beside; ignores others. */
export function compareDecision(
  comparison: ModelComparison,
  stores: TruthStores,
  { customer, id }: { readonly customer: CustomerNumber; readonly id: string },
  record: DecisionRecord,
): void {
  const { beside } = record;
  // Anyone can sign with a public key, so its labels prove nothing.
  if (beside?.id !== id || record.publicKey) return;
  const { requestId } = record;
  comparison.add({
    session: `${customer} ${learningLinks(record).session ?? requestId}`,
    active: record.wouldBe ?? record.decision,
    challenger: beside.decision,
    truth: truthOf(stores, customer, record),
  });
}

/** Returns what is known of a decision, and since when, Unix ms; null if nothing is. */
export function truthOf(
  stores: TruthStores,
  customer: CustomerNumber,
  { requestId, occurredAtMs, outcome: own }: Pick<DecisionRecord, 'requestId' | 'occurredAtMs' | 'outcome'>,
): (KnownTruth & { readonly atMs: number }) | null {
  const known = knownLabel(stores, customer, requestId);
  if (known !== null)
    return { isFraud: known.label === 'fraud', source: known.source, atMs: known.createdAtSeconds * 1000 };
  const outcome = stores.outcomes?.find(requestId) ?? own;
  if (outcome !== 'challenge_passed' && outcome !== 'challenge_failed') return null;
  return { isFraud: outcome === 'challenge_failed', source: 'challenge', atMs: occurredAtMs };
}

/** Returns the label or verdict of a row. The end of a challenge is known, but no label. */
export function labelOf(truth: KnownTruth | null): Label | null {
  if (truth === null || truth.source === 'challenge') return null;
  return truth.isFraud ? 'fraud' : 'legitimate';
}

/** Returns the comparison as the API and `models compare --json` show it. */
export function showComparison({ decisions, sessions, alarms, catch: caught, catchBySource, unlabelled }: Comparison) {
  return {
    decisions,
    sessions,
    alarms,
    catch: caught,
    catch_by_source: Object.fromEntries(catchBySource.map(({ source, ...shares }) => [source, shares])),
    unlabelled: {
      sessions: unlabelled.sessions,
      only_active: unlabelled.onlyActive,
      only_challenger: unlabelled.onlyChallenger,
    },
  };
}

/** Returns what has to hold before a challenger may become the active model. */
export function promotionGates(
  { alarms, catch: caught, catchBySource }: Comparison,
  { shadowMs, isShadowOnly }: { readonly shadowMs: number; readonly isShadowOnly: boolean },
): readonly Gate[] {
  const days = shadowMs / DAY_MS;
  const honest = alarms.active.of;
  const added = honest === 0 ? 0 : (alarms.challenger.part - alarms.active.part) / honest;
  const worse = catchBySource.filter(({ active, challenger }) => challenger.part < active.part);
  const enough = (name: Gate['name'], n: number, of: number, what: string): Gate => {
    return { name, holds: n >= of, detail: `${n >= of ? '' : 'not enough yet: '}${what} ${n} of ${of}` };
  };
  return [
    { name: 'shadow_days', holds: days >= SHADOW_DAYS_MIN, detail: `${days.toFixed(1)} of ${SHADOW_DAYS_MIN} days` },
    enough('fraud_labels', caught.active.of, FRAUD_SESSIONS_MIN, 'fraud sessions'),
    enough('honest_labels', honest, HONEST_SESSIONS_MIN, 'honest sessions'),
    {
      name: 'alarms',
      holds: added <= ADDED_ALARMS_MAX,
      detail: `${added < 0 ? '' : '+'}${(added * 100).toFixed(2)} points of honest sessions, at most +0.10`,
    },
    {
      name: 'catch_by_source',
      holds: worse.length === 0,
      detail:
        worse.length === 0
          ? 'no label source is worse'
          : worse.map((one) => `${one.source}: ${one.challenger.part} instead of ${one.active.part}`).join(', '),
    },
    {
      name: 'training',
      holds: !isShadowOnly,
      detail: isShadowOnly ? 'trained on under 500 known fraud sessions' : 'trained on enough known fraud sessions',
    },
  ];
}

/** A surer source counts, and of one source a fraud. */
function isSurer(one: KnownTruth, other: KnownTruth | null): boolean {
  if (other === null) return true;
  const by = LABEL_SOURCES.indexOf(other.source) - LABEL_SOURCES.indexOf(one.source);
  return by > 0 || (by === 0 && one.isFraud);
}

function sharesOf(sessions: readonly Counted[]): ComparedShares {
  return {
    active: shareWithInterval(sessions.filter(({ active }) => active).length, sessions.length),
    challenger: shareWithInterval(sessions.filter(({ challenger }) => challenger).length, sessions.length),
  };
}
