import { onTestFinished, vi } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { DECISIONS, type Decision } from '../../../src/risk/decision.ts';
import { HEALTHY } from '../../../src/work/webhook-health.ts';
import type { Delivery, DeliveryError, Webhook, WebhookId, WebhookSecrets } from '../../../src/work/webhook.ts';
import { Control } from '../../../src/webhooks/webhook-control.ts';
import { Dispatcher } from '../../../src/webhooks/dispatcher.ts';
import { createLog } from '../../../src/observe/log.ts';
import type {
  DeliverOrder,
  DeliverResult,
  DeliverStats,
  DeliverTask,
  ThreadOrder,
} from '../../../src/webhooks/deliver-messages.ts';
import type { DeliverPoolEvents } from '../../../src/webhooks/deliver-pool.ts';
import { DeliveryThread } from '../../../src/webhooks/delivery-thread.ts';
import type { StoreFault } from '../../../src/state/durable.ts';
import { AnswerReader, AnswerWriter, createBatchBuffer } from '../../../src/frames/batch-buffer.ts';
import { decodeRow } from '../../../src/state/deliveries/row.ts';
import { table } from '../../../src/state/environment.ts';
import type { Store } from '../../../src/state/open-store.ts';
import { rootOf } from '../state/deliveries-support.ts';

export const CUSTOMER = 7 as CustomerNumber;
const KEY = Buffer.alloc(32, 1);
const STATS = { connectionsOpened: 0, connectionsReused: 0, blockedAddresses: 0, attemptsInFlight: 0, held: 0 };
let ids = 0;

/** Returns a new id for each call, in increasing order. */
function idOf(prefix: string): string {
  return `${prefix}_01KAJ8Q5W0${String(ids++).padStart(16, '0')}`;
}

/** A dispatcher with a real store and a delivery thread in this one, whose worker is controlled by the test. */
export class DispatcherBench {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly control: Control;
  readonly orders: DeliverOrder[] = [];
  readonly staged: { readonly sequence: number; readonly bytes: Buffer }[] = [];
  readonly extractionEndpoints = new Map<string, { url: string; secrets: WebhookSecrets }>();
  readonly faults: StoreFault[] = [];
  storedUpTo = 0;
  up = true;
  closed = 0;
  nowMs = 1_800_000_000_000;
  #events: DeliverPoolEvents | null = null;
  #thread: DeliveryThread | null = null;
  #threads = 0;
  #onResults: (results: readonly DeliverResult[], stats: DeliverStats) => void = () => {};
  #onStopped: () => void = () => {};
  /** What the worker does at a stop. */
  onClose: () => void = () => {};

  constructor(store: Store) {
    this.store = store;
    const { webhooks, deliveries } = store;
    const nowMs = (): number => this.nowMs;
    const newest = (): number => this.staged.at(-1)?.sequence ?? 0;
    this.dispatcher = new Dispatcher({
      webhooks: {
        loadAll: () => webhooks.loadAll(),
        healthChanged: (changed) => webhooks.healthChanged(changed),
      },
      deliveries,
      extractionEndpoint: (id) => this.extractionEndpoints.get(id) ?? null,
      journal: {
        get dueEnd() {
          return { upToSequence: newest(), file: 1 };
        },
        dueStart: () => ({ folder: '', firstFile: 1, acknowledged: deliveries.storedUpToSequence() }),
        stageDue: (sequence, bytes) => this.staged.push({ sequence, bytes: Buffer.from(bytes) }) > 0,
        dueStored: (upTo) => void (this.storedUpTo = upTo),
      },
      worker: { egressAllow: [], dataDir: '', secretsKey: KEY },
      log: createLog('silent'),
      nowMs,
      openPool: (data, events) => {
        this.#events = events;
        setInterval(() => Atomics.add(data.beat, 0, 1), 100).unref();
        this.#newThread();
        const isUp = (): boolean => this.up;
        return Promise.resolve({
          get up() {
            return isUp();
          },
          send: (order: ThreadOrder) => {
            const thread = this.#thread;
            if (this.up) setImmediate(() => thread?.order(structuredClone(order)));
            return this.up;
          },
          close: async (graceMs: number) => {
            this.closed++;
            if (!this.up || this.closed > 1) {
              this.#threads++;
              return;
            }
            const stopped = new Promise<void>((resolve) => (this.#onStopped = resolve));
            this.#thread?.order({ kind: 'stop', graceMs });
            await stopped;
            this.#threads++;
          },
        });
      },
      onStoreFaults: (faults) => void this.faults.push(...faults),
    });
    this.control = new Control({
      dispatcher: this.dispatcher,
      webhooks: {
        create: (webhook, secret) => webhooks.create(KEY, webhook, secret),
        remove: (customer, id) => webhooks.remove(customer, id),
        change: (customer, id, change) => webhooks.change(customer, id, change),
        rotate: (customer, id, change) => webhooks.rotate(KEY, customer, id, change),
      },
      nowMs,
    });
    onTestFinished(async () => {
      await this.dispatcher.stop();
      if (this.faults.length > 0) throw new Error(this.faults.map(({ detail }) => detail).join());
    });
  }

  #newThread(): void {
    const { webhooks, deliveries } = this.store;
    const number = ++this.#threads;
    const isPresent = (): boolean => this.#threads === number;
    const stats = (): DeliverStats => STATS;
    this.#thread = new DeliveryThread({
      webhooks: { loadAll: () => webhooks.loadAll(), secretsOf: (webhook) => webhooks.secretsOf(KEY, webhook) },
      deliveries,
      nowMs: () => this.nowMs,
      after(ms, then) {
        const run = (): void => {
          if (isPresent()) then();
        };
        void (ms === 0 ? setImmediate(run) : setTimeout(run, ms).unref());
      },
      post: (signal) =>
        setImmediate(() => {
          if (isPresent() && signal.kind !== 'ready' && signal.kind !== 'stopped')
            this.#events?.onSignal(structuredClone(signal));
        }),
      openQueue: ({ acknowledged }, onAcknowledged) => this.#queue(acknowledged, onAcknowledged),
      openWorker: ({ onResults, onStopped }) => {
        this.#onResults = onResults;
        return {
          order: (order: DeliverOrder) => {
            if (!isPresent()) return;
            this.orders.push(order);
            if (order.kind !== 'stop') return;
            this.onClose();
            onStopped();
          },
          stats,
        };
      },
      setForbidden: () => {},
      onStopped: () => setImmediate(() => setImmediate(() => this.#onStopped())),
    });
  }

  /** `due` are the journal entries of the last run. */
  async start(due: readonly { readonly sequence: number; readonly bytes: Buffer }[] = []): Promise<this> {
    this.staged.push(...due);
    await this.dispatcher.start();
    await this.dispatcher.listens([{ host: '127.0.0.1', port: 8080 }]);
    return this;
  }

  #queue(acknowledged: number, onAcknowledged: (upTo: number) => void) {
    let read = acknowledged;
    let end = acknowledged;
    return {
      announce: ({ upToSequence }: { readonly upToSequence: number }) => void (end = upToSequence),
      receive: () => {
        const next = this.staged.filter(({ sequence }) => sequence > read && sequence <= end).slice(0, 100);
        read = next.at(-1)?.sequence ?? read;
        return next;
      },
      ack: onAcknowledged,
      claim: () => {},
    };
  }

  async webhook(...eventTypes: readonly Decision[]): Promise<Webhook> {
    const id = idOf('wh') as WebhookId;
    const times = { createdAtMs: this.nowMs, updatedAtMs: this.nowMs };
    const url = `https://${id.toLowerCase().slice(-4)}.test/hook`;
    const webhook: Webhook = {
      id,
      customer: CUSTOMER,
      url,
      eventTypes,
      description: null,
      disabled: false,
      health: HEALTHY,
      ...times,
    };
    const secret = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
    const made = await this.store.webhooks.create(KEY, webhook, secret);
    if (made.kind === 'fault') throw new Error(made.detail);
    this.dispatcher.changed({ kind: 'subscribed', webhook });
    return webhook;
  }

  /** Makes `count` decisions, through the port of the decide path. */
  decide(decision: Decision, count = 1): string[] {
    return Array.from({ length: count }, () => {
      const frame = createBatchBuffer();
      const requestId = idOf('req');
      const rest = { flags: 0, score: 91.5, rulesLow: 0, rulesHigh: 0, record: new Uint8Array(0) };
      const text =
        `{"request_id":"${requestId}","decision":"${decision}","score":91.5,"reasons":["list_block"],"review_hint":"",` +
        `"session_mode":"full","shadow_routed":false,"latency_ms":`;
      new AnswerWriter(frame).write(0, { status: 200, decision: DECISIONS.indexOf(decision), text, ...rest });
      this.dispatcher.decided(CUSTOMER, this.nowMs, new AnswerReader(frame), 0);
      this.dispatcher.committed(true);
      return requestId;
    });
  }

  /** Resolves after some turns of the event loop, when the worker has been given this many orders. */
  async ordered(count: number): Promise<void> {
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
    await vi.waitFor(() => {
      if (this.orders.length < count) throw new Error(`${this.orders.length} of ${count} orders`);
    }, 30_000);
  }

  /** Everything handed out so far. */
  tasks(): DeliverTask[] {
    return this.orders.flatMap((order) => (order.kind === 'deliver' ? order.tasks : []));
  }

  /** Resolves when this many have been handed out in total. */
  async handedOut(count: number): Promise<DeliverTask[]> {
    await vi.waitFor(() => {
      if (this.tasks().length < count) throw new Error(`${this.tasks().length} of ${count} were handed out`);
    }, 30_000);
    return this.tasks();
  }

  /** Reports the result of an attempt as the worker does. */
  tell(task: DeliverTask, outcome: DeliverResult['outcome'], error: DeliveryError | null = null): void {
    const statusCode = error === null ? 200 : 500;
    const attempt = { attempt: task.attemptsMade + 1, startedAtMs: this.nowMs, durationMs: 5, statusCode, error };
    const { deliveryId, endpointId } = task;
    const result = { deliveryId, endpointId, attempt, outcome, elapsedMs: 5, completedAtMs: this.nowMs };
    this.#onResults([result], STATS);
  }

  fail(task: DeliverTask): void {
    this.tell(task, { kind: 'failed', error: 'http_status' }, 'http_status');
  }

  /** Kills the worker; `revive` starts another one. */
  kill(): void {
    this.up = false;
    this.#events?.onEnded(new Error('killed'));
  }

  revive(): void {
    this.up = true;
    this.orders.length = 0;
    this.#newThread();
    this.#events?.onReady();
  }

  rows(status: 'pending' | 'succeeded' | 'failed' | 'skipped'): Delivery[] {
    const all: Delivery[] = [];
    for (const { key, value } of table(rootOf(this.store), 'deliveries').getRange({ reverse: true }))
      all.push(decodeRow(Buffer.from(key), Buffer.from(value)));
    return all.filter((row) => row.status === status).slice(0, 1_000);
  }

  async until(status: 'pending' | 'succeeded' | 'failed' | 'skipped', count: number): Promise<void> {
    await vi.waitFor(() => {
      const found = this.rows(status).length;
      if (found !== count) throw new Error(`${found} of ${count} are ${status}`);
    }, 30_000);
  }

  health(webhook: Webhook) {
    return this.dispatcher.newest(webhook).health;
  }
}
