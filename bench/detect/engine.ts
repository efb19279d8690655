import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CustomerNumber } from '../../src/kernel/brand.ts';
import { DECISIONS, type Decision } from '../../src/risk/decision.ts';
import { decodeRecord, type DecisionRecord, type RecordedContribution } from '../../src/risk/decision-record.ts';
import type { PolicySet } from '../../src/risk/policy/policy-set.ts';
import {
  AnswerReader,
  AnswerWriter,
  createBatchBuffer,
  BatchReader,
  BatchWriter,
} from '../../src/frames/batch-buffer.ts';
import type { GeoContent, GeoSlot } from '../../src/assets/asset-messages.ts';
import { Engine } from '../../src/score/engine.ts';
import { createGeoIp, type GeoIp } from '../../src/score/geoip.ts';
import { createSources } from '../../src/score/sources.ts';
import { openStore } from '../../src/state/feed/open-store.ts';
import { LocalVelocity } from '../../src/velocity/local-velocity.ts';
import { createVelocityMemory } from '../../src/velocity/memory.ts';
import { readVelocityStats } from '../../src/velocity/stats.ts';
import type { TrafficEvent } from '../../scripts/traffic/events.ts';
import type { OutcomeSink } from './outcomes.ts';

export interface EngineParts {
  readonly geo: Readonly<Record<GeoSlot, GeoContent>>;
  readonly policies: PolicySet;
  /** Choice of the caller; the service uses 256 MB. */
  readonly velocityBytes: number;
}

export interface Decided {
  readonly requestId: string;
  readonly decision: Decision;
  /** 0 to 100, one decimal. */
  readonly score: number;
  /** Rules that fired, with their weights. */
  readonly contributions: readonly RecordedContribution[];
}

/**
 * The scoring path of a score worker, in this process: same body validation, hashing, GeoIP, velocity store and rules. It has no model;
 * lists and registry are empty.
 */
export interface DetectEngine {
  readonly geo: GeoIp;
  /** Decides events in order, each at its own time. Rejects when a response is not a 200. */
  decide(events: readonly TrafficEvent[]): Promise<readonly Decided[]>;
  /** Receives the outcomes of earlier events. */
  readonly outcomes: OutcomeSink;
  /** Number of records of 137 bytes that the velocity store has created so far. */
  recordsMade(): number;
  close(): Promise<void>;
}

const ID_AT = '{"request_id":"'.length;
const ID_CHARACTERS = 30;
/** Choice: outcomes arrive 400 ms after their decisions; far fewer decisions than this are made in that time. */
const OPEN_MAX = 10_000;

export function openDetectEngine({ geo: contents, policies, velocityBytes }: EngineParts): DetectEngine {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-detect-'));
  const opened = openStore({ dataDir: folder, readOnly: false });
  if (opened.kind === 'fault') throw new Error(opened.detail);
  const { store } = opened;
  const geo = createGeoIp(contents);
  const worker = createSources(store, geo);
  // A fixed key: two runs with the same seed give the same figures.
  const memory = createVelocityMemory(velocityBytes, Buffer.alloc(16, 7));
  const velocity = new LocalVelocity(memory);
  const engine = createEngine(worker, velocity, policies);
  const frame = createBatchBuffer();
  const writer = new BatchWriter(frame);
  const reader = new BatchReader(frame);
  const answers = new AnswerWriter(frame);
  const answered = new AnswerReader(frame);

  /** Decisions whose outcome may still be reported. */
  const open = new Map<string, Pick<DecisionRecord, 'occurredAtMs' | 'publicKey' | 'outcome' | 'trace'>>();

  const read = (at: number, event: TrafficEvent): Decided => {
    const status = answered.status(at);
    if (status !== 200) throw new Error(`a request returned status ${status}: ${answered.text(at)}`);
    const decision = answered.decision(at);
    const requestId = answered.text(at).slice(ID_AT, ID_AT + ID_CHARACTERS);
    if (event.outcome !== null) open.set(requestId, decodeRecord(Buffer.from(answered.record(at))));
    while (open.size > OPEN_MAX) open.delete(String(open.keys().next().value));
    return {
      requestId,
      decision: DECISIONS[decision] ?? 'ALLOW',
      score: answered.score(at),
      contributions: decodeRecord(answered.record(at)).contributions,
    };
  };

  return {
    geo,
    outcomes: {
      report({ requestId, customerNumber, outcome, atMs }) {
        const decided = open.get(requestId);
        if (decided === undefined) throw new Error(`no pending decision for ${requestId}`);
        open.delete(requestId);
        const { occurredAtMs, publicKey, trace, outcome: before } = decided;
        const customer = customerNumber as CustomerNumber;
        if (trace !== null) velocity.settle({ customer, publicKey, trace, occurredAtMs, nowMs: atMs, before, outcome });
      },
    },
    async decide(events) {
      writer.reset();
      for (const { body, atMs, session } of events)
        writer.add(Buffer.from(JSON.stringify(body)), session.customer.number, 0, atMs);
      worker.begin();
      await engine.scoreBatch(reader, answers, 0, events.length);
      return events.map((event, at) => read(at, event));
    },
    recordsMade: () => readVelocityStats(memory).made,
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The engine of a score worker, without a model. */
function createEngine(worker: ReturnType<typeof createSources>, velocity: LocalVelocity, policies: PolicySet): Engine {
  return new Engine({
    sources: worker.sources,
    model: { current: () => null },
    policies: { current: () => policies },
    velocity,
    keys: { links: Buffer.alloc(32, 7), requests: Buffer.alloc(32, 7), grants: Buffer.alloc(32, 7) },
    warmUpVelocity: velocity,
    simulatedVelocity: velocity,
    isDegraded: () => false,
    takeStoreFailure: () => worker.takeStoreFailure(),
    onMemoryFailed(error) {
      throw error;
    },
  });
}
