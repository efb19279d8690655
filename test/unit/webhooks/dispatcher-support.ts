import { onTestFinished, vi } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { DECISIONS, type Decision } from '../../../src/risk/decision.ts';
import { HEALTHY } from '../../../src/work/webhook-health.ts';
import type { Delivery, DeliveryError, Webhook, WebhookId, WebhookSecrets } from '../../../src/work/webhook.ts';
import { createWebhookTable } from '../../../src/webhooks/webhook-changes.ts';
import { Control } from '../../../src/webhooks/webhook-control.ts';
import type { DeliveryMirror } from '../../../src/webhooks/delivery-mirror.ts';
import { Dispatcher } from '../../../src/webhooks/dispatcher.ts';
import { createLog } from '../../../src/observe/log.ts';
import type { DeliverOrder, DeliverResult, DeliverTask } from '../../../src/webhooks/deliver-messages.ts';
import type { DeliverPoolEvents } from '../../../src/webhooks/deliver-pool.ts';
import { AnswerReader, AnswerWriter, createBatchBuffer } from '../../../src/frames/batch-buffer.ts';
import { decodeRow } from '../../../src/state/tables/deliveries/row.ts';
import { openHeaders } from '../../../src/state/tables/webhook-headers.ts';
import { table } from '../../../src/state/tables/environment.ts';
import type { Store } from '../../../src/state/feed/open-store.ts';
import { writesOf } from '../../support/writes.ts';

export const CUSTOMER = 7 as CustomerNumber;
const KEY = Buffer.alloc(32, 1);
const SECRET = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const STATS = { connectionsOpened: 0, connectionsReused: 0, blockedAddresses: 0, attemptsInFlight: 0, held: 0 };
let ids = 0;

/** Returns a new id for each call, in increasing order. */
function idOf(prefix: string): string {
  return `${prefix}_01KAJ8Q5W0${String(ids++).padStart(16, '0')}`;
}

/** A dispatcher with a real store and a worker controlled by the test. */
export class DispatcherBench {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly control: Control;
  readonly orders: DeliverOrder[] = [];
  readonly staged: { readonly sequence: number; readonly bytes: Buffer }[] = [];
  readonly extractionEndpoints = new Map<string, { url: string; secrets: WebhookSecrets }>();
  storedUpTo = 0;
  up = true;
  closed = 0;
  nowMs = 1_800_000_000_000;
  #events: DeliverPoolEvents | null = null;
  /** What the worker does at a stop. */
  onClose: () => void = () => {};

  constructor(store: Store, mirror: DeliveryMirror | null = null) {
    this.store = store;
    const { webhooks, deliveries } = store;
    const nowMs = (): number => this.nowMs;
    const newest = (): number => this.staged.at(-1)?.sequence ?? 0;
    this.dispatcher = new Dispatcher({
      webhooks: {
        loadAll: () => webhooks.loadAll(),
        secretsOf: (webhook) => webhooks.secretsOf(KEY, webhook),
        headersOf: (webhook) => openHeaders(KEY, webhook, webhook.headers),
        healthChanged: (changed) => writesOf(store).webhooks.healthChanged(changed),
      },
      deliveries,
      mirror,
      extractionEndpoint: (id) => this.extractionEndpoints.get(id) ?? null,
      journal: {
        get dueCommitted() {
          return newest();
        },
        stageDue: (sequence, bytes) => this.staged.push({ sequence, bytes: Buffer.from(bytes) }) > 0,
        dueAfter: (sequence) => this.#reader(sequence),
        dueStored: (upTo) => void (this.storedUpTo = upTo),
      },
      egressAllow: [],
      log: createLog('silent'),
      nowMs,
      openPool: (_data, events) => {
        this.#events = events;
        const isUp = (): boolean => this.up;
        return Promise.resolve({
          get up() {
            return isUp();
          },
          send: (order: DeliverOrder) => {
            if (this.up) this.orders.push(order);
            return this.up;
          },
          close: () => {
            this.closed++;
            this.onClose();
            return Promise.resolve();
          },
        });
      },
      onStoreFaults: (faults) => {
        throw new Error(faults.map(({ detail }) => detail).join());
      },
    });
    this.control = new Control({
      dispatcher: this.dispatcher,
      webhooks: createWebhookTable({ changes: store.changes, webhooks, key: KEY }),
      deliveries,
      nowMs,
    });
    onTestFinished(() => this.dispatcher.stop());
  }

  /** `due` are the journal entries of the last run. */
  async start(due: readonly { readonly sequence: number; readonly bytes: Buffer }[] = []): Promise<this> {
    this.staged.push(...due);
    await this.dispatcher.start();
    await this.dispatcher.listens([{ host: '127.0.0.1', port: 8080 }]);
    return this;
  }

  #reader(after: number) {
    let read = after;
    return {
      next: () => {
        const next = this.staged.filter(({ sequence }) => sequence > read).slice(0, 100);
        read = next.at(-1)?.sequence ?? read;
        return next;
      },
      close: () => {},
    };
  }

  /** Creates the webhook of another installation. */
  async webhookOf(webhook: Webhook): Promise<this> {
    const made = await writesOf(this.store).webhooks.create(KEY, webhook, SECRET);
    if (made.kind === 'fault') throw new Error(made.detail);
    return this;
  }

  webhook(...eventTypes: readonly Decision[]): Promise<Webhook> {
    return this.subscribed({ eventTypes });
  }

  async subscribed(given: Partial<Webhook>): Promise<Webhook> {
    const id = idOf('wh') as WebhookId;
    const times = { createdAtMs: this.nowMs, updatedAtMs: this.nowMs };
    const url = `https://${id.toLowerCase().slice(-4)}.test/hook`;
    const webhook: Webhook = {
      id,
      customer: CUSTOMER,
      url,
      eventTypes: ['BLOCK'],
      description: null,
      disabled: false,
      health: HEALTHY,
      ...times,
      ...given,
    };
    await this.webhookOf(webhook);
    this.dispatcher.subscribe(webhook);
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
    this.report([result]);
  }

  report(results: readonly DeliverResult[]): void {
    this.#events?.onResults(results, STATS);
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
    this.#events?.onReady();
  }

  rows(status: 'pending' | 'succeeded' | 'failed' | 'skipped'): Delivery[] {
    const all: Delivery[] = [];
    for (const { key, value } of table(this.store.state, 'deliveries').getRange({ reverse: true }))
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
