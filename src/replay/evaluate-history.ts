import type { CustomerNumber } from '../kernel/brand.ts';
import type { PolicySet } from '../risk/policy/policy-set.ts';
import type { AttributeDeclarations } from '../risk/policy/attributes.ts';
import { Evaluation, type EvaluationResult } from './evaluation.ts';
import type { ColumnMap } from './history-columns.ts';
import { HistoryReader, type HistoryEventRow, type HistoryFaults } from './history-events.ts';
import { inOrder } from './history-order.ts';
import { readHistory, type HistoryFormat } from './history-rows.ts';
import { Replay, type ReplayOutcome } from './replay.ts';
import { numberedId, type ReplayEngine } from './replay-engine.ts';

export interface HistoryOptions {
  readonly path: string;
  readonly format: HistoryFormat;
  readonly columns: ColumnMap;
  readonly attributes: AttributeDeclarations;
  readonly policies: PolicySet;
  /** Makes an engine with an empty velocity table. */
  readonly openEngine: () => ReplayEngine;
  /** Called with the bytes and events of this pass so far. `pass` 2: the rows are not in order and are sorted first. */
  readonly onProgress: (bytes: number, events: number, pass: 1 | 2) => void;
  /** Ends the evaluation early; what was decided until then is the result. */
  readonly stop: AbortSignal;
}

export interface EvaluatedHistory {
  readonly result: EvaluationResult;
  readonly faults: HistoryFaults;
  /** Rows whose body was refused, with the problem of the first one. */
  readonly refused: number;
  readonly firstProblem: string | null;
  readonly isSorted: boolean;
  readonly isStopped: boolean;
}

/** Choice: as in bench:detect, how long a customer takes to report how an action ended. */
const OUTCOME_DELAY_MS = 400;
const PROGRESS_EVENTS = 500;

class NotInOrder extends Error {}

/**
 * Decides the events of a customer's history in the order of their times. Outcomes are reported whatever was decided, as in mode `observe`:
 * they happened. Rejects when the file cannot be read.
 */
export async function evaluateHistory(options: HistoryOptions): Promise<EvaluatedHistory> {
  try {
    return await evaluateOnce(options, true);
  } catch (error) {
    if (!(error instanceof NotInOrder)) throw error;
    return evaluateOnce(options, false);
  }
}

async function evaluateOnce(options: HistoryOptions, isSorted: boolean): Promise<EvaluatedHistory> {
  const { policies, onProgress, stop } = options;
  const reader = new HistoryReader(options.columns, options.attributes);
  const customers = new CustomerNumbers();
  const evaluation = new Evaluation();
  let refused = 0;
  let firstProblem: string | null = null;
  const replay = new Replay<HistoryEventRow>(options.openEngine(), (replayed, { customer }, row) => {
    if (replayed.kind === 'refused') {
      refused++;
      firstProblem ??= replayed.problem;
    } else evaluation.add(replayed.record, row, policies.of(customer, replayed.record.eventType).bands);
  });
  let bytes = 0;
  const rows = eventsOfFile(options, reader, (more) => (bytes += more));
  const outcomes = new DelayedOutcomes();
  let events = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  for await (const row of isSorted ? rows : inOrder(rows)) {
    if (stop.aborted) break;
    const { atMs, outcome } = row;
    if (atMs < lastMs) throw new NotInOrder();
    lastMs = atMs;
    for (const due of outcomes.takeUntil(atMs)) await replay.outcome(due);
    const customer = customers.numberOf(row.customer);
    const requestId = numberedId(events);
    const request = { customer, atMs, body: Buffer.from(row.body), publicKey: false, requestId, originHash: 0 };
    await replay.request(request, row, outcome !== null);
    if (outcome !== null) outcomes.add({ customer, requestId, outcome, atMs: atMs + OUTCOME_DELAY_MS });
    if (++events % PROGRESS_EVENTS === 0) onProgress(bytes, events, isSorted ? 1 : 2);
  }
  await replay.flush();
  const { faults } = reader;
  return { result: evaluation.result(), faults, refused, firstProblem, isSorted, isStopped: stop.aborted };
}

async function* eventsOfFile(
  { path, format, columns, stop }: HistoryOptions,
  reader: HistoryReader,
  onBytes: (bytes: number) => void,
): AsyncGenerator<HistoryEventRow> {
  for await (const read of readHistory(path, format, onBytes, new Set(columns.keys()))) {
    if (stop.aborted) return;
    if (read.kind === 'fault') reader.addUnreadable();
    else if (read.kind === 'row') {
      const event = reader.read(read.row);
      if (event !== null) yield event;
    }
  }
}

/** Outcomes that are reported later; all have the same delay. */
class DelayedOutcomes {
  #waiting: ReplayOutcome[] = [];

  add(outcome: ReplayOutcome): void {
    this.#waiting.push(outcome);
  }

  takeUntil(nowMs: number): readonly ReplayOutcome[] {
    const end = this.#waiting.findIndex(({ atMs }) => atMs > nowMs);
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }
}

/** Choice: more customers than this share the last number. */
const CUSTOMERS_MAX = 10_000;

class CustomerNumbers {
  readonly #numbers = new Map<string, CustomerNumber>();

  numberOf(name: string): CustomerNumber {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    if (this.#numbers.size >= CUSTOMERS_MAX) return CUSTOMERS_MAX as CustomerNumber;
    const number = (this.#numbers.size + 1) as CustomerNumber;
    this.#numbers.set(name, number);
    return number;
  }
}
