import { VELOCITY_BYTES_MAX } from '../limits.ts';
import { GROUP_WORDS, HEAD_GROUPS, HEAD_MAGIC, HEAD_VERSION, HEAD_WORDS, LAYOUT_VERSION, MAGIC } from './layout.ts';

/** What all threads share; it is made once, by the main thread. */
export interface VelocityMemory {
  /** The table (`layout.ts`). */
  readonly words: SharedArrayBuffer;
  /** At least 16 secret bytes: without them nobody can choose names that fall on one group. */
  readonly hashKey: Uint8Array;
}

/** A table of at most `bytesMax` bytes, all of it empty. Throws a RangeError where not even one group fits. */
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
  return { words: buffer, hashKey };
}
