import type { SharedAnswers } from '../kernel/shared-answers.ts';
import { LookUpBudget } from './look-up-budget.ts';

/** What a look-up found. */
export interface LookUpAnswer {
  /** See `SharedAnswers`. */
  readonly answer: number;
  /** Name of the answer, for the metric. */
  readonly name: string;
  readonly keepSeconds: number;
}

/** Answers the questions of one kind, whose first word is its key. Makes at most two look-ups. One that rejects is asked again. */
export type LookUp = (about: string) => Promise<LookUpAnswer>;

export interface LookUpsOptions {
  readonly answers: SharedAnswers;
  /** First word of a question → what answers it. */
  readonly kinds: Readonly<Record<string, LookUp>>;
  /** The clock of decisions, Unix seconds. */
  readonly nowSeconds: () => number;
  /** Real time, ms, for the budget. */
  readonly elapsedMs?: () => number;
}

/** Choice: a crawler makes its second request later than this. */
const POLL_MS = 200;

/** Looks up what decisions asked for, within a budget. Questions beyond it are dropped; a later request asks them again. */
export class LookUps {
  readonly #options: LookUpsOptions;
  readonly #budget = new LookUpBudget();
  readonly #running = new Map<string, Promise<void>>();
  readonly #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(options: LookUpsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.answerAll(), POLL_MS).unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  /** Begins what the budget allows of the questions that wait. Resolves when these are answered. */
  async answerAll(): Promise<void> {
    const { answers, kinds, elapsedMs = () => performance.now() } = this.#options;
    for (const { question, customer, source } of answers.take()) {
      if (this.#running.has(question)) continue;
      const space = question.indexOf(' ');
      const kind = question.slice(0, space);
      const lookUp = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
      if (lookUp === undefined) continue;
      if (this.#budget.take(customer, source, elapsedMs())) {
        this.#running.set(question, this.#run(question, kind, lookUp(question.slice(space + 1))));
      } else this.#count(kind, 'dropped');
    }
    await Promise.all(this.#running.values());
  }

  async #run(question: string, kind: string, asked: Promise<LookUpAnswer>): Promise<void> {
    try {
      const { answer, name, keepSeconds } = await asked;
      this.#count(kind, name);
      this.#options.answers.put(question, answer, keepSeconds, this.#options.nowSeconds());
    } catch {
      this.#count(kind, 'failed');
    } finally {
      this.#running.delete(question);
    }
  }

  #count(kind: string, result: string): void {
    const key = `${kind} ${result}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** Returns how many questions of each kind had each result, `dropped` among them. */
  counts(): readonly { readonly labels: readonly string[]; readonly count: number }[] {
    return [...this.#counts].map(([key, count]) => ({ labels: key.split(' '), count }));
  }
}
