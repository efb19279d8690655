import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { EndedKey, KeyCache, StoredKey } from '../auth/key-cache.ts';
import type { CellDecisions, CellKey } from '../decide/cell-decider.ts';
import type { DecisionSink } from '../decide/decision-sink.ts';
import type { DecideObserver } from '../decide/observer.ts';
import { readFault } from '../decide/respond.ts';
import { AnswerReader, createBatchBuffer } from '../frames/batch-buffer.ts';
import type { Handler } from '../http/exchange.ts';
import type { Transport } from '../http/transport.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { isTestCustomer } from '../kernel/test-customers.ts';
import type { Store } from '../state/feed/open-store.ts';
import { BATCHES_AT_ONCE, type CellData, type CellFault, type CellKeys, UNRECORDED_MAX } from './cell.ts';

interface CellsParts {
  readonly transport: Transport;
  /** One for each cell. */
  readonly data: readonly Omit<CellData, 'keysVersion'>[];
  readonly store: Pick<Store, 'webhooks' | 'changes'>;
  readonly keys: StoredKeys;
  /** Whether the requests of this customer are logged. */
  wantsRequests(customer: CustomerNumber): boolean;
  readonly decisionSink: DecisionSink;
  readonly observer: DecideObserver;
}

/** Passes the stored keys on to the key cache, and keeps those that may sign requests at present. */
export class StoredKeys implements Pick<KeyCache, 'load'> {
  readonly #cache: KeyCache;
  #keys: readonly StoredKey[] = [];
  #onLoaded = (): void => {};

  constructor(cache: KeyCache) {
    this.#cache = cache;
  }

  load(keys: readonly StoredKey[], ended: readonly EndedKey[] = []): void {
    this.#cache.load(keys, ended);
    this.#keys = keys;
    this.#onLoaded();
  }

  all(): readonly StoredKey[] {
    return this.#keys;
  }

  onLoaded(call: () => void): void {
    this.#onLoaded = call;
  }
}

/** Choice: the same as the poll of the keys. */
const KEYS_POLL_MS = 400;
/** Choice: to be woken for each batch takes the main thread three times as long as to record it. */
const RECORD_MS = 10;

/**
 * The main thread's side of the cells: gives each the keys that it may decide for, and records what they have decided.
 *
 * The main thread decides for a customer with a webhook, whose deliveries one outbox numbers, for one whose requests are logged, for test
 * keys and for public keys. A cell has none of these keys, so it hands their requests over.
 */
export class Cells {
  readonly #parts: CellsParts;
  readonly #cells: readonly { readonly port: MessagePort; readonly recorded: Int32Array }[];
  readonly #version = new SharedArrayBuffer(4);
  readonly #answers = new AnswerReader(createBatchBuffer());
  readonly #timers: readonly NodeJS.Timeout[];
  #posted: readonly StoredKey[] | null = null;
  /** Customers with a webhook. */
  #hooked: ReadonlySet<CustomerNumber> = new Set();
  #versions = 0;

  constructor(parts: CellsParts) {
    this.#parts = parts;
    const channels = parts.data.map((own) => {
      const { port1: port, port2 } = new MessageChannel();
      port.postMessage({ ...own, keysVersion: this.#version } satisfies CellData);
      return { port, port2, recorded: new Int32Array(own.recorded) };
    });
    this.#cells = channels;
    parts.transport.lead?.(channels.map(({ port2 }) => port2));
    this.#follow();
    // Both before the command or the call gets its response.
    parts.keys.onLoaded(() => this.#post());
    parts.store.changes.onCommitted(({ change }) => {
      if (change.kind === 'webhook.created' || change.kind === 'webhook.removed') this.#follow();
    });
    this.#timers = [setInterval(() => this.#post(), KEYS_POLL_MS), setInterval(() => this.recordDecided(), RECORD_MS)];
  }

  /** Returns the handler that finds, in whatever it reads, every decision whose client has its response. */
  recordFirst(handler: Handler): Handler {
    return (head, exchange) => {
      this.recordDecided();
      handler(head, exchange);
    };
  }

  /** Records what the cells have decided so far. A cell has posted a decision before its response leaves. */
  recordDecided(): void {
    for (const { port, recorded } of this.#cells) {
      // A cell has never posted more that is not recorded. What it posts meanwhile was not posted before this call.
      for (let messages = 0; messages < UNRECORDED_MAX + BATCHES_AT_ONCE; messages++) {
        const next = receiveMessageOnPort(port);
        if (next === undefined) break;
        const message = next.message as CellDecisions | CellFault;
        if ('fault' in message) this.#parts.observer.batchFailed(message.fault);
        else {
          this.#record(message);
          Atomics.add(recorded, 0, message.keys.length);
        }
      }
    }
  }

  /** Call when the main thread refuses decisions. Resolves when all decisions are answered and recorded, and the cells have ended. */
  async stop(): Promise<void> {
    await this.#parts.transport.close?.();
    for (const timer of this.#timers) clearInterval(timer);
    this.recordDecided();
    for (const { port } of this.#cells) port.close();
  }

  #follow(): void {
    this.#hooked = new Set(this.#parts.store.webhooks.loadAll().map(({ customer }) => customer));
    this.#post();
  }

  #post(): void {
    const { keys } = this.#parts;
    const own = keys
      .all()
      .filter(
        ({ kind, customer }) =>
          kind === 'secret' &&
          !isTestCustomer(customer) &&
          !this.#hooked.has(customer) &&
          !this.#parts.wantsRequests(customer),
      );
    const { length } = own;
    if (this.#posted?.length === length && own.every((key, at) => key === this.#posted?.[at])) return;
    this.#posted = own;
    const version = ++this.#versions;
    for (const { port } of this.#cells) port.postMessage({ version, keys: own } satisfies CellKeys);
    // After the messages: a cell that sees the version finds them.
    Atomics.store(new Int32Array(this.#version), 0, version);
  }

  #record({ output, keys, latenciesMs }: CellDecisions): void {
    const { decisionSink, observer } = this.#parts;
    const answers = this.#answers;
    answers.fill(output);
    observer.batchLeft(keys.length);
    for (const [at, key] of keys.entries())
      this.#recordOne(key, at, latenciesMs[at] ?? 0, answers, decisionSink, observer);
  }

  #recordOne(
    key: CellKey,
    at: number,
    latencyMs: number,
    answers: AnswerReader,
    decisionSink: DecisionSink,
    observer: DecideObserver,
  ): void {
    try {
      if (answers.status(at) === 200) {
        decisionSink.decided(key.customer, answers.record(at), answers.flags(at), latencyMs);
        observer.decided({ request: { key } }, answers, at, latencyMs);
      } else observer.scoreRefused(readFault(answers, at).code, answers.record(at).toString(), key);
    } catch (error) {
      observer.batchFailed(error);
    }
  }
}
