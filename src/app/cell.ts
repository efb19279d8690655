import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { KeyCache, type StoredKey } from '../auth/key-cache.ts';
import { CellDecider, type CellDeciderParts, type CellDecisions } from '../decide/cell-decider.ts';
import { WARM_UP_IDS, warmUpCell } from '../decide/warm-up.ts';
import { openJournal } from '../decide/journal.ts';
import { createBatchBuffers } from '../frames/batch-buffer.ts';
import type { ScoreWorkerData } from '../frames/score-messages.ts';
import type { RequestTaker } from '../http/http-thread.ts';
import { systemClock } from '../kernel/clock.ts';
import { REPLAY_HOLD_SECONDS } from '../kernel/limits.ts';
import { SettledSeconds } from '../kernel/settled-seconds.ts';
import { LocalAdmission } from '../local/local-admission.ts';
import { ReplayGuard } from '../local/replay-guard.ts';
import { type createModelAsset, WITHOUT_MODEL } from '../score/model.ts';
import { openOwnLane } from './own-lane.ts';

/** What a cell gets over its port first, once the main thread is up. */
export interface CellData extends Omit<ScoreWorkerData, 'frames' | 'exchange'> {
  readonly replay: { readonly idsMax: number; readonly hashKey: Uint8Array; readonly memory: SharedArrayBuffer };
  readonly rates: SharedArrayBuffer;
  /** One word: version of the keys that were posted last. */
  readonly keysVersion: SharedArrayBuffer;
  /** One word: how many decisions of this cell the main thread has recorded, modulo 2^32. */
  readonly recorded: SharedArrayBuffer;
  readonly journalFolder: string;
  readonly warmUp: boolean;
}

/** Every later message to a cell: the keys whose requests it may decide. */
export interface CellKeys {
  readonly version: number;
  readonly keys: readonly StoredKey[];
}

/** A message from a cell: something of a batch has failed. */
export interface CellFault {
  readonly fault: Error | string;
}

/** Choice: batches of 32 that may arrive in one turn of the event loop; the main thread decides beyond that. */
export const BATCHES_AT_ONCE = 32;
const TEND_MS = 250;
/** Choice: some 20 MB. The main thread has no time to record, so it gets the requests, and refuses what it cannot decide. */
export const UNRECORDED_MAX = 8_192;

/** Opens what a cell decides with, in its thread. `port` leads to the main thread (`cells.ts`), which gets the decisions. */
export async function openCell(port: MessagePort): Promise<RequestTaker> {
  // Never listened to: each message is taken when it is needed.
  const data = receiveMessageOnPort(port)?.message as CellData;
  const scoring = await openScoring(data);
  const { admission, journal } = openIds(data);
  const recorded = new Int32Array(data.recorded);
  const report = (error: unknown): void => {
    port.postMessage({ fault: error instanceof Error ? error : String(error) } satisfies CellFault);
  };
  let posted = 0;
  const parts: CellDeciderParts = {
    clock: systemClock,
    ...openKeys(port, new Int32Array(data.keysVersion)),
    admission,
    journal,
    ...scoring,
    isBehind: () => ((posted - Atomics.load(recorded, 0)) | 0) > UNRECORDED_MAX,
    record(decisions: CellDecisions) {
      port.postMessage(decisions, [decisions.output.buffer as ArrayBuffer]);
      posted = (posted + decisions.keys.length) | 0;
    },
    report,
    async close() {
      journal.close();
      await scoring.close();
    },
  };
  if (data.warmUp) {
    const ids = new ReplayGuard(WARM_UP_IDS, Buffer.alloc(16));
    const unjournalled = new LocalAdmission(ids, { stage: () => {} });
    await warmUpCell(systemClock.nowMs(), (own) => new CellDecider({ ...parts, admission: unjournalled, ...own }));
  }
  return new CellDecider(parts);
}

type Scoring = Pick<CellDeciderParts, 'hasModel' | 'frames' | 'score' | 'outputOf' | 'close'>;

async function openScoring(data: CellData): Promise<Scoring> {
  const models = new Map<object, boolean>();
  // While there is a model, score workers get all requests.
  const openModel: typeof createModelAsset = (first) => {
    const slot = {};
    models.set(slot, first.kind !== 'absent');
    const swap = (next: typeof first): Promise<void> => {
      models.set(slot, next.kind !== 'absent');
      return Promise.resolve();
    };
    return Promise.resolve({ ...WITHOUT_MODEL, swap });
  };
  const frames = createBatchBuffers(BATCHES_AT_ONCE);
  const lane = await openOwnLane(data, frames, openModel);
  return {
    hasModel: () => [...models.values()].includes(true),
    frames,
    score: (task) => lane.score(task),
    outputOf: (frame) => lane.sides[frame]?.answers.written() ?? new Uint8Array(0),
    close: () => lane.close(),
  };
}

/** The shared request ids and rates, and this cell's journal. */
function openIds({ replay, rates, journalFolder }: CellData): Pick<CellDeciderParts, 'admission' | 'journal'> {
  const settled = new SettledSeconds(REPLAY_HOLD_SECONDS);
  const ids = new ReplayGuard(replay.idsMax, Buffer.from(replay.hashKey), settled, replay.memory);
  // The main thread has read its entries.
  const { journal } = openJournal(journalFolder, nowSeconds(), () => {});
  setInterval(() => {
    journal.prune(settled.at(nowSeconds()));
    void journal.tend();
  }, TEND_MS).unref();
  return { admission: new LocalAdmission(ids, journal, rates), journal };
}

function openKeys(port: MessagePort, version: Int32Array): Pick<CellDeciderParts, 'keyCache' | 'refreshKeys'> {
  const keyCache = new KeyCache();
  let seen = 0;
  return {
    keyCache,
    refreshKeys() {
      while (seen !== Atomics.load(version, 0)) {
        const received = receiveMessageOnPort(port)?.message as CellKeys | undefined;
        // Never happens: keys are posted before their version.
        if (received === undefined) throw new Error('a cell did not get its keys');
        keyCache.load(received.keys);
        seen = received.version;
      }
    },
  };
}

function nowSeconds(): number {
  return Math.floor(systemClock.nowMs() / 1000);
}
