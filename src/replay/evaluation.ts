import { BoundedCache } from '../kernel/bounded-cache.ts';
import { DECISIONS, type Decision, isStop } from '../risk/decision.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import { explain } from '../risk/explain.ts';
import type { Bands } from '../risk/policy/policy.ts';
import type { HistoryEventRow } from './history-events.ts';
import { shareWithInterval, type ShareInterval } from '../kernel/wilson.ts';

/** Counts of one kind of event. */
export interface ByLabel {
  fraud: number;
  legitimate: number;
  unlabelled: number;
}

export interface EvaluatedRule {
  readonly code: string;
  /** Events on which it fired. */
  readonly fired: Readonly<ByLabel>;
  /** Flagged events that would not be flagged without it. */
  readonly decisive: Readonly<ByLabel>;
}

export interface EvaluatedPerson {
  readonly name: string;
  readonly value: string;
  readonly events: number;
  readonly flagged: number;
  /** The reasons of the last flagged event. */
  readonly reasons: readonly string[];
}

/** Part of the time since the first event. */
export interface ColdStartStep {
  readonly from_hours: number;
  /** Null: up to the end. */
  readonly to_hours: number | null;
  readonly events: number;
  readonly flagged: ShareInterval;
  readonly catch: ShareInterval;
  readonly false_alarms: ShareInterval;
}

export interface EvaluationResult {
  readonly events: number;
  readonly labelled: { readonly fraud: number; readonly legitimate: number };
  /** Events labelled fraud that were challenged, reviewed or blocked. */
  readonly catch: ShareInterval;
  /** The same of those labelled legitimate. */
  readonly false_alarms: ShareInterval;
  /** The same of all events. */
  readonly flagged: ShareInterval;
  /** By event type. */
  readonly decisions: Readonly<Record<string, Readonly<Record<Decision, number>>>>;
  /** Ten each: those that are decisive for most legitimate events (without labels: of all), and for most fraud. */
  readonly rules: { readonly cost: readonly EvaluatedRule[]; readonly gain: readonly EvaluatedRule[] };
  /** Ten that are most likely hit wrongly: flagged, never labelled fraud, with most events that were not flagged. */
  readonly people: readonly EvaluatedPerson[];
  readonly cold_start: readonly ColdStartStep[];
  /** ISO 8601; null without events. */
  readonly from: string | null;
  readonly to: string | null;
}

interface Person {
  readonly name: string;
  readonly value: string;
  events: number;
  flagged: number;
  legitimateFlagged: number;
  fraud: number;
  reasons: readonly string[];
}

interface Step extends ByLabel {
  events: number;
  flagged: number;
  caught: number;
  alarms: number;
}

const SHOWN = 10;
/** Choice: event types are the customer's own text. */
const EVENT_TYPES_MAX = 100;
const OTHER_EVENT_TYPES = '(others)';
/** Choice: at most twice this many people are known at a time, some 200 bytes each; those that come back soonest stay. */
const PEOPLE_KEPT = 100_000;
/** Choice: flagged people that are candidates for the list; when there are more, the least likely ones go. */
const CANDIDATES_MAX = 2_000;
/** Ends of the steps of the cold-start curve: hours since the first event. */
const STEP_ENDS_HOURS = [1, 6, 24, 48, 72, 168, 336, Infinity];
const HOUR_MS = 3_600_000;

/** Adds up decisions on a customer's history. Its size does not depend on the number of events. */
export class Evaluation {
  readonly #all: Step = emptyStep();
  readonly #steps = STEP_ENDS_HOURS.map(emptyStep);
  readonly #types = new Map<string, Record<Decision, number>>();
  readonly #rules = new Map<string, { readonly fired: ByLabel; readonly decisive: ByLabel }>();
  readonly #people = new BoundedCache<string, Person>(PEOPLE_KEPT);
  #candidates = new Set<Person>();
  #firstMs: number | null = null;
  #lastMs = 0;

  /** `bands` are those of the event type. */
  add(record: DecisionRecord, { isFraud, person, atMs }: HistoryEventRow, bands: Bands): void {
    const decision = record.wouldBe ?? record.decision;
    const isFlagged = isStop(decision);
    this.#firstMs ??= atMs;
    this.#lastMs = atMs;
    const hours = (atMs - this.#firstMs) / HOUR_MS;
    const step = this.#steps[STEP_ENDS_HOURS.findIndex((end) => hours < end)];
    for (const one of step === undefined ? [this.#all] : [this.#all, step]) count(one, isFraud, isFlagged);
    this.#typeOf(record.eventType)[decision]++;
    const label = isFraud === null ? 'unlabelled' : isFraud ? 'fraud' : 'legitimate';
    for (const { code, weight } of record.contributions) if (weight > 0) this.#ruleOf(code).fired[label]++;
    if (isFlagged) for (const code of decisiveCodes(record, bands)) this.#ruleOf(code).decisive[label]++;
    if (person !== null) this.#addPerson(person, isFraud, isFlagged, record);
  }

  result(): EvaluationResult {
    const { fraud, legitimate, events, flagged, caught, alarms } = this.#all;
    const rules = [...this.#rules].map(([code, counts]): EvaluatedRule => ({ code, ...counts }));
    const costOf = ({ decisive }: EvaluatedRule): number =>
      fraud + legitimate === 0 ? decisive.unlabelled : decisive.legitimate;
    return {
      events,
      labelled: { fraud, legitimate },
      catch: shareWithInterval(caught, fraud),
      false_alarms: shareWithInterval(alarms, legitimate),
      flagged: shareWithInterval(flagged, events),
      decisions: Object.fromEntries(
        [...this.#types].sort((a, b) => sumOf(b[1]) - sumOf(a[1]) || (a[0] < b[0] ? -1 : 1)),
      ),
      rules: { cost: topRules(rules, costOf), gain: topRules(rules, ({ decisive }) => decisive.fraud) },
      people: [...this.#candidates]
        .filter((person) => person.fraud === 0)
        .sort(byLikelihood)
        .slice(0, SHOWN)
        .map(({ name, value, events: all, flagged: hit, reasons }) => ({
          name,
          value,
          events: all,
          flagged: hit,
          reasons,
        })),
      cold_start: this.#steps.flatMap((step, at) => (step.events === 0 ? [] : [stepResult(step, at)])),
      from: this.#firstMs === null ? null : new Date(this.#firstMs).toISOString(),
      to: this.#firstMs === null ? null : new Date(this.#lastMs).toISOString(),
    };
  }

  #typeOf(eventType: string): Record<Decision, number> {
    const known = this.#types.get(eventType);
    if (known !== undefined) return known;
    const name = this.#types.size < EVENT_TYPES_MAX ? eventType : OTHER_EVENT_TYPES;
    const counts = this.#types.get(name) ?? { ALLOW: 0, ALLOW_WATCH: 0, SOFT_CHALLENGE: 0, REVIEW: 0, BLOCK: 0 };
    this.#types.set(name, counts);
    return counts;
  }

  #ruleOf(code: string): { readonly fired: ByLabel; readonly decisive: ByLabel } {
    let rule = this.#rules.get(code);
    if (rule === undefined) {
      rule = { fired: emptyLabels(), decisive: emptyLabels() };
      this.#rules.set(code, rule);
    }
    return rule;
  }

  #addPerson(
    { name, value }: NonNullable<HistoryEventRow['person']>,
    isFraud: boolean | null,
    isFlagged: boolean,
    { contributions }: DecisionRecord,
  ): void {
    const key = `${name}=${value}`;
    let person = this.#people.get(key);
    if (person === undefined) {
      person = { name, value, events: 0, flagged: 0, legitimateFlagged: 0, fraud: 0, reasons: [] };
      this.#people.set(key, person);
    }
    person.events++;
    if (isFraud === true) person.fraud++;
    if (!isFlagged) return;
    person.flagged++;
    if (isFraud === false) person.legitimateFlagged++;
    person.reasons = contributions.filter(({ weight }) => weight > 0).map(({ code }) => code);
    this.#candidates.add(person);
    if (this.#candidates.size > 2 * CANDIDATES_MAX)
      this.#candidates = new Set([...this.#candidates].sort(byLikelihood).slice(0, CANDIDATES_MAX));
  }
}

/** Returns the codes of the reasons without which the event would not be flagged. */
function decisiveCodes(record: DecisionRecord, bands: Bands): string[] {
  const { contributions } = explain(record, bands);
  return contributions.flatMap(({ without }, at) => {
    const code = record.contributions[at]?.code;
    const milder = without?.decision ?? null;
    return code !== undefined && milder !== null && !isStop(milder) ? [code] : [];
  });
}

function byLikelihood(a: Person, b: Person): number {
  return (
    Math.min(a.fraud, 1) - Math.min(b.fraud, 1) ||
    b.legitimateFlagged - a.legitimateFlagged ||
    b.events - b.flagged - (a.events - a.flagged) ||
    b.flagged - a.flagged ||
    (a.value < b.value ? -1 : 1)
  );
}

function topRules(rules: readonly EvaluatedRule[], countOf: (rule: EvaluatedRule) => number): readonly EvaluatedRule[] {
  return rules
    .filter((rule) => countOf(rule) > 0)
    .sort((a, b) => countOf(b) - countOf(a) || (a.code < b.code ? -1 : 1))
    .slice(0, SHOWN);
}

function stepResult({ events, flagged, fraud, legitimate, caught, alarms }: Step, at: number): ColdStartStep {
  const end = STEP_ENDS_HOURS[at] ?? Infinity;
  return {
    from_hours: STEP_ENDS_HOURS[at - 1] ?? 0,
    to_hours: end === Infinity ? null : end,
    events,
    flagged: shareWithInterval(flagged, events),
    catch: shareWithInterval(caught, fraud),
    false_alarms: shareWithInterval(alarms, legitimate),
  };
}

function count(step: Step, isFraud: boolean | null, isFlagged: boolean): void {
  step.events++;
  step[isFraud === null ? 'unlabelled' : isFraud ? 'fraud' : 'legitimate']++;
  if (!isFlagged) return;
  step.flagged++;
  if (isFraud === true) step.caught++;
  if (isFraud === false) step.alarms++;
}

function emptyStep(): Step {
  return { ...emptyLabels(), events: 0, flagged: 0, caught: 0, alarms: 0 };
}

function emptyLabels(): ByLabel {
  return { fraud: 0, legitimate: 0, unlabelled: 0 };
}

function sumOf(counts: Readonly<Record<Decision, number>>): number {
  return DECISIONS.reduce((sum, decision) => sum + counts[decision], 0);
}
