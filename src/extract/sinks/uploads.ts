import { unreachable } from '../../kernel/brand.ts';
import type { ExtractOrder, UploadAnswer, UploadSignal } from '../base/extract-messages.ts';
import type { RecordReader } from './batches.ts';
import type { ResultFault } from './sink-outcome.ts';
import type { SentPart } from './s3.ts';
import type { UploadTask } from './upload.ts';

export interface UploadsParts {
  /** Returns whether the worker is running and can receive the order. */
  send(order: ExtractOrder): boolean;
  /** Starts the worker if it has not started yet. */
  wakeWorker(): void;
}

/** What an upload needs from the extraction thread. */
export interface UploadSource {
  readonly reader: RecordReader;
  saveUpload(uploadId: string | null): Promise<void>;
}

interface Running extends UploadSource {
  end(sent: SentPart): void;
}

type Ask = Extract<UploadSignal, { readonly kind: 'ask' }>;

/** The extraction thread's side of uploads: passes them to the worker and responds to its requests. */
export class Uploads {
  readonly #parts: UploadsParts;
  #isUp = false;
  readonly #running = new Map<number, Running>();
  #waiting: (() => void)[] = [];
  #next = 1;
  #isStopped = false;

  constructor(parts: UploadsParts) {
    this.#parts = parts;
  }

  /** Makes one attempt in the worker; waits until it is up. Ends with `shutdown` when the service stops. */
  async run(task: UploadTask, source: UploadSource): Promise<SentPart> {
    if (!this.#isUp) this.#parts.wakeWorker();
    while (!this.#isUp && !this.#isStopped)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    if (this.#isStopped) return STOPPED;
    const upload = this.#next++;
    return new Promise((end) => {
      this.#running.set(upload, { ...source, end });
      if (!this.#parts.send({ kind: 'upload', upload, taskJson: JSON.stringify(task) })) this.#end(upload, WORKER_GONE);
    });
  }

  workerReady(): void {
    this.#isUp = true;
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** Fails the uploads of the worker that died, because one of them may be the cause. Further attempts follow. */
  workerEnded(): void {
    this.#isUp = false;
    for (const upload of this.#running.keys()) this.#end(upload, WORKER_GONE);
  }

  hear(signal: UploadSignal): void {
    const running = this.#running.get(signal.upload);
    if (running === undefined) return;
    if (signal.kind === 'uploaded') this.#end(signal.upload, JSON.parse(signal.sentJson) as SentPart);
    else void this.#answer(running, signal);
  }

  /** Call after the worker has ended. Uploads without a result end as interrupted. */
  stop(): void {
    this.#isStopped = true;
    for (const resume of this.#waiting.splice(0)) resume();
    for (const upload of this.#running.keys()) this.#end(upload, STOPPED);
  }

  #end(upload: number, sent: SentPart): void {
    const running = this.#running.get(upload);
    this.#running.delete(upload);
    running?.end(sent);
  }

  async #answer(running: Running, { upload, ask, what }: Ask): Promise<void> {
    const answer = await answerOf(running, what).catch((error: unknown): UploadAnswer['answer'] => {
      return { kind: 'refused', detail: String(error) };
    });
    this.#parts.send({ kind: 'answer', upload, ask, answer });
  }
}

const WORKER_GONE: ResultFault = {
  kind: 'failed',
  error: 'internal_error',
  detail: 'the worker ended during the upload',
  isFinal: false,
};
const STOPPED: ResultFault = { kind: 'failed', error: 'shutdown', detail: 'the service is stopping', isFinal: false };

async function answerOf(source: UploadSource, what: Ask['what']): Promise<UploadAnswer['answer']> {
  switch (what.kind) {
    case 'records': {
      const { chunks, nextSeq } = await source.reader.read(what);
      // Copied into separate memory: a part of a chunk would be sent to the worker with the whole chunk.
      const copies = chunks.map(({ bytes, ...chunk }) => ({ ...chunk, bytes: Uint8Array.from(bytes) }));
      return { kind: 'records', chunks: copies, nextSeq };
    }
    case 'save':
      await source.saveUpload(what.uploadId);
      return { kind: 'saved' };
    default:
      return unreachable(what);
  }
}
