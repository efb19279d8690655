import { unreachable } from '../../kernel/brand.ts';
import type { ExtractOrder, UploadAnswer, UploadSignal } from '../base/extract-messages.ts';
import type { RecordPage } from '../base/jobs-port.ts';
import type { SentPart } from './s3.ts';
import type { SendParts } from './sending.ts';
import { upload, type UploadTask } from './upload.ts';

export interface UploadRunnerParts extends Pick<SendParts, 'client' | 'nowMs' | 'random'> {
  /** Calls `then` once, later. The returned function cancels it. */
  after(ms: number, then: () => void): () => void;
  say(signal: UploadSignal): void;
}

type Ask = Extract<UploadSignal, { readonly kind: 'ask' }>['what'];
type Answer = UploadAnswer['answer'];

/** The worker's side of uploads: sends whole results, and asks the extraction thread for records and to store upload ids. */
export class UploadRunner {
  readonly #parts: UploadRunnerParts;
  readonly #running = new Set<Promise<void>>();
  readonly #asked = new Map<number, (answer: Answer) => void>();
  /** Wakes the uploads that wait before a retry. */
  readonly #wakers = new Set<() => void>();
  #nextAsk = 1;
  #isStopping = false;

  constructor(parts: UploadRunnerParts) {
    this.#parts = parts;
  }

  order(order: Extract<ExtractOrder, { readonly kind: 'upload' | 'answer' }>): void {
    if (order.kind === 'answer') {
      this.#asked.get(order.ask)?.(order.answer);
      this.#asked.delete(order.ask);
      return;
    }
    const run = this.#upload(order.upload, JSON.parse(order.taskJson) as UploadTask);
    this.#running.add(run);
    void run.finally(() => this.#running.delete(run));
  }

  /** Starts no further attempts. Resolves when all uploads have ended, for which their requests must be ended as well. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const wake of this.#wakers) wake();
    await Promise.all(this.#running);
  }

  async #upload(number: number, task: UploadTask): Promise<void> {
    const { client, nowMs, random } = this.#parts;
    const sent = await upload(task, {
      client,
      nowMs,
      random,
      wait: (ms) => this.#wait(ms),
      isStopping: () => this.#isStopping,
      reader: { read: (query) => this.#read(number, { kind: 'records', ...query }) },
      saveUpload: async (uploadId) => void (await this.#ask(number, { kind: 'save', uploadId })),
    });
    this.#parts.say({ kind: 'uploaded', upload: number, sentJson: JSON.stringify(this.#atStop(sent)) });
  }

  /** An attempt that the stop interrupted does not count, whatever its outcome. */
  #atStop(sent: SentPart): SentPart {
    return this.#isStopping && sent.kind === 'failed' && !sent.isFinal ? { ...sent, error: 'shutdown' } : sent;
  }

  async #read(upload: number, ask: Ask): Promise<RecordPage> {
    if (this.#isStopping) throw new Error('the service is stopping');
    const answer = await this.#ask(upload, ask);
    if (answer.kind !== 'records') throw new Error('expected records');
    return answer;
  }

  async #ask(upload: number, what: Ask): Promise<Answer> {
    const ask = this.#nextAsk++;
    const answer = await new Promise<Answer>((resolve) => {
      this.#asked.set(ask, resolve);
      this.#parts.say({ kind: 'ask', upload, ask, what });
    });
    switch (answer.kind) {
      case 'records':
      case 'saved':
        return answer;
      case 'refused':
        throw new Error(answer.detail);
      default:
        return unreachable(answer);
    }
  }

  async #wait(ms: number): Promise<void> {
    if (this.#isStopping) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        cancel();
        this.#wakers.delete(wake);
        resolve();
      };
      const cancel = this.#parts.after(ms, wake);
      this.#wakers.add(wake);
    });
  }
}
