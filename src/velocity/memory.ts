import { setImmediate } from 'node:timers/promises';
import { VELOCITY_BYTES_MAX } from '../kernel/velocity-limits.ts';
import { createAppliersMemory } from './applier.ts';
import { GROUP_WORDS, HEAD_GROUPS, HEAD_MAGIC, HEAD_VERSION, HEAD_WORDS, LAYOUT_VERSION, MAGIC } from './layout.ts';
import { createMarksMemory } from './stream-marks.ts';

/** Shared by all threads; created once, by the main thread. */
export interface VelocityMemory {
  /** The table (`layout.ts`). */
  readonly words: SharedArrayBuffer;
  /** At least 16 secret bytes: without them nobody can choose names that fall into one group. */
  readonly hashKey: Uint8Array;
  /** How far the table contains the events of other nodes (`stream-marks.ts`). */
  readonly marks: SharedArrayBuffer;
  /** Which threads are applying events of other nodes at the moment (`applier.ts`). */
  readonly appliers: SharedArrayBuffer;
}

/** What a thread needs to exchange events with other nodes. */
export interface ExchangeSeed {
  /** Where the store of the cluster is (`ClusterAddress`). */
  readonly address: {
    readonly urls: readonly string[];
    readonly user: string | null;
    readonly password: string | null;
  };
  /** For the events in the store; the same on all nodes. */
  readonly valuesKey: Uint8Array;
}

/** Creates an empty table of at most `bytesMax` bytes. Throws a RangeError if not even one group fits, or if the hash key is too short. */
export function createVelocityMemory(bytesMax: number, hashKey: Uint8Array): VelocityMemory {
  const words = Math.floor(Math.min(bytesMax, VELOCITY_BYTES_MAX) / 4);
  const groups = Math.floor((words - HEAD_WORDS) / GROUP_WORDS);
  if (groups < 1) throw new RangeError(`a velocity table of ${bytesMax} bytes holds no record`);
  if (hashKey.length < 16) throw new RangeError('the hash key of the velocity table has under 16 bytes');
  const buffer = new SharedArrayBuffer((HEAD_WORDS + groups * GROUP_WORDS) * 4);
  const head = new Uint32Array(buffer, 0, HEAD_WORDS);
  head[HEAD_MAGIC] = MAGIC;
  head[HEAD_VERSION] = LAYOUT_VERSION;
  head[HEAD_GROUPS] = groups;
  return { words: buffer, hashKey, marks: createMarksMemory(), appliers: createAppliersMemory() };
}

/** Choice: the smallest page size of the supported systems. */
const PAGE_WORDS = 1_024;
/** Choice: a first touch takes a few microseconds on a virtual machine; 64 take under half a millisecond a turn. */
const PAGES_PER_TURN = 64;

/**
 * Touches every page once, a few in each turn of the event loop, so that the system allocates the memory now and not during decisions.
 * Changes nothing. Stops early when `isWanted` returns false.
 * Measured: 10 µs a page on a virtual machine, 0.7 s for 256 MB; without it the first write to a page costs that much.
 */
export async function touchPages({ words }: VelocityMemory, isWanted: () => boolean): Promise<void> {
  const all = new Uint32Array(words);
  for (let at = 0; at < all.length && isWanted();) {
    const end = Math.min(all.length, at + PAGES_PER_TURN * PAGE_WORDS);
    for (; at < end; at += PAGE_WORDS) Atomics.or(all, at, 0);
    await setImmediate();
  }
}
