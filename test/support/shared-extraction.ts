import { mkdirSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import type { Link } from '../../src/cluster/store/link.ts';
import { openLink, openWaitingLink } from '../../src/cluster/store/redis-link.ts';
import { RedisPoliteness } from '../../src/cluster/jobs/redis-politeness.ts';
import { openSharedExtraction } from '../../src/cluster/jobs/shared-extraction.ts';
import type { ExtractOrder, ExtractStepMessage } from '../../src/extract/base/extract-messages.ts';
import type { ExtractWorkerEvents } from '../../src/extract/engine/extract-worker.ts';
import { encodeFirst } from '../../src/extract/base/first-answer.ts';
import { createJobEngine, type JobEngine } from '../../src/extract/engine/job-engine.ts';
import { JobReading } from '../../src/extract/engine/job-reading.ts';
import { sessionChange } from '../../src/extract/engine/result-parts.ts';
import type { CustomerNumber } from '../../src/kernel/brand.ts';
import type { StoreFault } from '../../src/state/tables/durable.ts';
import { type ExtractStore, openExtractStore } from '../../src/state/tables/extract-store.ts';
import type { LiveNode } from '../../src/state/tables/shared-jobs.ts';
import type { ExtractionId } from '../../src/work/extraction-job.ts';
import { tempFolder } from '../unit/state/support.ts';
import { type Answer, resultOf, SEALING } from './extraction-scheduler.ts';
import { linkTo } from './links.ts';

/** Engines of several nodes over one shared store. Each has its own tables; its worker is simulated by the test. */

export const CLUSTER_KEY = Buffer.alloc(32, 9);

export interface SharedNodeOptions {
  readonly url: string;
  readonly node: string;
  readonly folder?: string;
  readonly runsJobs?: boolean;
  readonly logBytesMax?: number;
  readonly isStarted?: boolean;
  /** False: the links are not up yet when `open` resolves, as in a process that has just started. */
  readonly isConnected?: boolean;
}

export interface LeasedStep extends ExtractStepMessage {
  /** Key of the step. */
  readonly key: string;
}

export class SharedNode {
  readonly node: string;
  readonly folder: string;
  readonly engine: JobEngine;
  readonly store: ExtractStore;
  readonly reading: JobReading;
  /** Steps that the worker holds, in the order in which it got them. */
  readonly steps: LeasedStep[] = [];
  readonly faults: StoreFault[] = [];
  readonly gaps: (readonly [from: number, to: number])[] = [];
  /** Entries of newer builds: number and format. */
  readonly unknown: (readonly [number: number, format: number])[] = [];
  readonly ended: string[] = [];
  readonly #cut: () => Promise<void>;
  #events: ExtractWorkerEvents | null = null;
  #isOpen = true;

  static async open(options: SharedNodeOptions): Promise<SharedNode> {
    const [link, reader] = await Promise.all(
      [openLink, openWaitingLink].map(async (openOne) =>
        (options.isConnected ?? true)
          ? await linkTo(options.url, openOne)
          : openOne({ urls: [options.url], user: null, password: null }),
      ),
    );
    if (link === undefined || reader === undefined) throw new Error('two links were expected');
    const node = new SharedNode(options, link, reader);
    if (options.isStarted ?? true) await node.start();
    onTestFinished(() => node.stop());
    return node;
  }

  private constructor(
    { node, runsJobs = true, folder = tempFolder(), logBytesMax }: SharedNodeOptions,
    link: Link,
    reader: Link,
  ) {
    this.node = node;
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    this.store = openExtractStore(folder);
    const polite = { gapMs: 0, concurrency: 100 };
    const shared = openSharedExtraction({
      store: this.store,
      link,
      reader,
      key: CLUSTER_KEY,
      node,
      runsJobs,
      functions: { encryptionKey: SEALING, answer: encodeFirst, sessionChange },
      politeness: new RedisPoliteness({ link, key: CLUSTER_KEY, limits: polite, nodes: () => 1 }),
      nowMs: () => Date.now(),
      onFault: (fault) => void this.faults.push(fault),
      onPutBack() {},
      onGap: (from, to) => void this.gaps.push([from, to]),
      onUnknown: (number, format) => void this.unknown.push([number, format]),
      ...(logBytesMax !== undefined && { logBytesMax }),
      tickMs: 50,
    });
    this.engine = createJobEngine({
      store: this.store,
      shared,
      dataDir: folder,
      encryptionKey: SEALING,
      worker: { egressAllow: [], userAgent: 'test', bases: {} },
      connectors: [],
      polite,
      runsJobs,
      log: { info() {}, warn() {}, error() {} },
      deliveryLog: {
        find: () => Promise.resolve(null),
        add: () => true,
        ended: () => Promise.resolve(),
        forget() {},
      },
      openWorker: (_data, events) => {
        this.#events = events;
        setImmediate(() => events.onReady());
        return Promise.resolve({
          send: (order) => this.#order(order),
          restart() {},
          close: () => Promise.resolve(),
        });
      },
      onEnded: (id) => void this.ended.push(id),
      onStoreFault: (fault) => void this.faults.push(fault),
    });
    this.reading = new JobReading({
      store: this.store,
      encryptionKey: SEALING,
      nowMs: () => Date.now(),
      waitingUntilMs: () => null,
      refresh: () => this.store.root.resetReadTxn(),
    });
    this.#cut = async () => {
      await Promise.all([link.close(), reader.close()]);
    };
  }

  async start(): Promise<void> {
    await this.engine.start();
    this.engine.listens([]);
  }

  #order(order: ExtractOrder): boolean {
    if (order.kind !== 'steps') return true;
    for (const step of order.steps) {
      const { key } = JSON.parse(step.stateJson) as { key: string };
      this.steps.push({ ...step, key });
    }
    return true;
  }

  setNodes(...nodes: readonly (string | LiveNode)[]): void {
    this.engine.setNodes(nodes.map((one) => (typeof one === 'string' ? { id: one, runsJobs: true } : one)));
  }

  /** Reports the result of a step in the name of the worker. */
  answer(key: string, given: Answer = {}): void {
    const at = this.steps.findIndex((step) => step.key === key);
    const [step] = this.steps.splice(at, 1);
    if (at < 0 || step === undefined) throw new Error(`the worker of ${this.node} does not have ${key}`);
    this.#events?.onEvents([resultOf(step.lease, given)]);
  }

  /** Ids of all records of a job as this node stores them, in order; null if it has no such job. */
  async recordsOf(customer: CustomerNumber, id: ExtractionId): Promise<readonly string[] | null> {
    await this.engine.caughtUp();
    if (this.reading.find(customer, id) === null) return null;
    const ids: string[] = [];
    for (let fromSeq: number | null = 0; fromSeq !== null;) {
      const { chunks, nextSeq } = this.reading.records(customer, id, { fromSeq, recordsMax: 100, bytesMax: 1_000_000 });
      for (const { bytes } of chunks)
        for (const line of Buffer.from(bytes).toString('utf8').trimEnd().split('\n'))
          ids.push((JSON.parse(line) as { id: string }).id);
      fromSeq = nextSeq;
    }
    return ids;
  }

  /** Loses its connections, as by a partition of the network. It notices nothing else. */
  async disconnect(): Promise<void> {
    await this.#cut();
  }

  async stop(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.engine.stop();
    await this.store.root.close();
  }
}
