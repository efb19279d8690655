import { type Decision, DECISIONS } from '../risk/decision.ts';
import { decisiveReasons, type StoredReason } from '../risk/explain.ts';
import type { Label, ReviewVerdict } from '../risk/judgement.ts';
import type { Bands } from '../risk/policy/policy.ts';
import { type RawRecord, tailOfId } from './decision-log/raw-record.ts';

/** What is known of a rule from its decisions. */
export interface RuleCounts {
  /** Decisions that would be milder without it, and those of them of which it is the only reason. */
  decisive: number;
  alone: number;
  readonly labels: Record<Label, number>;
  readonly verdicts: Record<ReviewVerdict, number>;
  /** Decisions judged as fraud or as legitimate, a label counting before a verdict. */
  fraud: number;
  legitimate: number;
}

export interface Judgements {
  readonly labels: ReadonlyMap<string, Label>;
  readonly verdicts: ReadonlyMap<string, ReviewVerdict>;
}

/** Counts what the reasons of many decisions did and how people judged them. */
export class RuleCounter {
  readonly counts = new Map<string, RuleCounts>();
  flagged = 0;
  readonly #judgements: Judgements;
  /** Ends of the ids of judged decisions, so that few ids of records are read. */
  readonly #tails: ReadonlySet<number>;
  readonly #bandsAt: (ms: number, eventType: string) => Bands | null;
  readonly #fired: StoredReason[] = [];

  constructor(judgements: Judgements, bandsAt: (ms: number, eventType: string) => Bands | null) {
    this.#judgements = judgements;
    this.#tails = new Set([...judgements.labels.keys(), ...judgements.verdicts.keys()].map(tailOfId));
    this.#bandsAt = bandsAt;
  }

  add(record: RawRecord, occurredAtMs: number): void {
    const decision = record.effective;
    const isFlagged = decision !== 'ALLOW';
    if (isFlagged) this.flagged++;
    const id = this.#tails.has(record.idTail) ? record.requestId : '';
    const label = this.#judgements.labels.get(id);
    const verdict = this.#judgements.verdicts.get(id);
    if (!isFlagged && label === undefined && verdict === undefined) return;
    const fired = this.#fired;
    fired.length = 0;
    record.contributions((code, weight) => fired.push({ code, weight }));
    if (isFlagged) this.#decisive(fired, decision, this.#bandsAt(occurredAtMs, record.eventType));
    for (const { code } of fired) this.#judge(code, label, verdict);
  }

  #decisive(fired: readonly StoredReason[], decision: Decision, bands: Bands | null): void {
    if (bands === null) return;
    for (const at of decisiveReasons(fired, decision, bands)) {
      const counts = this.#of(fired[at]?.code ?? '');
      counts.decisive++;
      if (fired.length === 1) counts.alone++;
    }
  }

  #judge(code: string, label: Label | undefined, verdict: ReviewVerdict | undefined): void {
    if (label === undefined && verdict === undefined) return;
    const counts = this.#of(code);
    if (label !== undefined) counts.labels[label]++;
    if (verdict !== undefined) counts.verdicts[verdict]++;
    const judged = label ?? verdict;
    if (judged === 'fraud') counts.fraud++;
    if (judged === 'legitimate') counts.legitimate++;
  }

  #of(code: string): RuleCounts {
    let counts = this.counts.get(code);
    if (counts === undefined) {
      counts = {
        decisive: 0,
        alone: 0,
        labels: { fraud: 0, legitimate: 0 },
        verdicts: { fraud: 0, legitimate: 0, unsure: 0 },
        fraud: 0,
        legitimate: 0,
      };
      this.counts.set(code, counts);
    }
    return counts;
  }
}

/** A cell of the matrix of decisions and the challenger's decisions. */
export interface MovedCell<Example> {
  readonly from: Decision;
  readonly to: Decision;
  count: number;
  /** Those of the newest blocks first. */
  readonly examples: Example[];
}

/** Counts decisions that a challenger decided too. */
export class ChallengerCounter<Example> {
  /** Decisions that both made. */
  decisions = 0;
  moved = 0;
  readonly #matrix = DECISIONS.map(() => DECISIONS.map(() => 0));
  readonly #cells = new Map<number, MovedCell<Example>>();
  readonly #examplesMax: number;

  constructor(examplesMax: number) {
    this.#examplesMax = examplesMax;
  }

  add(record: RawRecord, example: () => Example): void {
    const to = record.challenger;
    if (to === null) return;
    const from = record.effective;
    const [row, column] = [DECISIONS.indexOf(from), DECISIONS.indexOf(to)];
    const counts = this.#matrix[row] ?? [];
    counts[column] = (counts[column] ?? 0) + 1;
    this.decisions++;
    if (row === column) return;
    this.moved++;
    const key = row * DECISIONS.length + column;
    let cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, (cell = { from, to, count: 0, examples: [] }));
    cell.count++;
    if (cell.examples.length < this.#examplesMax) cell.examples.push(example());
  }

  count(from: Decision, to: Decision): number {
    return this.#matrix[DECISIONS.indexOf(from)]?.[DECISIONS.indexOf(to)] ?? 0;
  }

  /** Cells off the diagonal with a count, the largest first. */
  cells(): readonly MovedCell<Example>[] {
    return [...this.#cells.values()].sort((a, b) => b.count - a.count);
  }
}
