import type { Api } from './api-types.ts';

/** How an action ended. */
export type ReportedAs = 'succeeded' | 'failed' | 'declined' | 'challenge_passed' | 'challenge_failed';

export interface ReportInput {
  readonly request_id: string;
  readonly outcome: ReportedAs;
}

/** The result of one attempt to send a batch: accepted, refused for good, or to be sent again. */
export type BatchResult =
  | { readonly kind: 'sent'; readonly rejected: Api.OutcomeResult['rejected'] }
  | { readonly kind: 'refused' | 'failed'; readonly detail: string };

/** Source: contract, 15: reports per call. */
const BATCH_MAX = 1_000;
/** Choice: some minutes of a busy shop while the service is away. */
const WAITING_MAX = 10_000;
/** Choice: a restart takes seconds; later than a minute an outcome teaches little. */
const WAITS_MS: readonly number[] = [1_000, 10_000, 60_000];

interface WaitingReport {
  readonly report: ReportInput;
  readonly settle: (isAccepted: boolean) => void;
}

/** Sends outcomes in the background, in the order in which they were reported: of two for one decision the later counts. */
export class OutcomeQueue {
  readonly #send: (reports: readonly ReportInput[]) => Promise<BatchResult>;
  readonly #onLoss: (detail: string) => void;
  readonly #waiting: WaitingReport[] = [];
  #running: Promise<void> | null = null;

  /** @param onLoss is called when reports are given up. */
  constructor(send: (reports: readonly ReportInput[]) => Promise<BatchResult>, onLoss: (detail: string) => void) {
    this.#send = send;
    this.#onLoss = onLoss;
  }

  /** Resolves with whether the service accepted it; never rejects. Nobody has to wait for it. */
  add(report: ReportInput): Promise<boolean> {
    if (this.#waiting.length >= WAITING_MAX) {
      this.#onLoss(`${WAITING_MAX} outcomes are waiting already`);
      return Promise.resolve(false);
    }
    const settled = new Promise<boolean>((resolve) => this.#waiting.push({ report, settle: resolve }));
    this.#running ??= this.#run();
    return settled;
  }

  /** Resolves when everything that was reported until now is sent or given up. */
  async flush(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // Reports of the same moment go out together.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#sendBatch(this.#waiting.splice(0, BATCH_MAX));
    this.#running = null;
  }

  async #sendBatch(batch: readonly WaitingReport[]): Promise<void> {
    const reports = batch.map(({ report }) => report);
    let result = await this.#send(reports);
    for (const waitMs of WAITS_MS) {
      if (result.kind !== 'failed') break;
      await wait(waitMs);
      result = await this.#send(reports);
    }
    const rejected = new Map(result.kind === 'sent' ? result.rejected.map(({ index, code }) => [index, code]) : []);
    if (result.kind !== 'sent') this.#onLoss(`${batch.length} outcomes: ${result.detail}`);
    for (const [index, code] of rejected) this.#onLoss(`${reports[index]?.request_id}: ${code}`);
    for (const [index, { settle }] of batch.entries()) settle(result.kind === 'sent' && !rejected.has(index));
  }
}

/** Does not keep a process running that has nothing else to do. */
function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms) as { unref?: () => void };
    timer.unref?.();
  });
}
