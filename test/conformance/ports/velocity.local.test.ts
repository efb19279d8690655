import { GROUP_WORDS, HEAD_GROUPS, HEAD_WORDS, WAYS } from '../../../src/velocity/layout.ts';
import { LocalVelocity } from '../../../src/velocity/local-velocity.ts';
import { createVelocityMemory } from '../../../src/velocity/memory.ts';
import { claimOf } from '../../../src/velocity/state.ts';
import { HASH_KEY, NOW_MS } from '../../unit/velocity/events.ts';
import { describeVelocity } from './velocity.ts';

describeVelocity('the memory of one node', {
  open() {
    const memory = createVelocityMemory(2 ** 20, HASH_KEY);
    return () => new LocalVelocity(memory);
  },
  /** Other workers are creating a record in each slot. */
  openUnavailable() {
    const memory = createVelocityMemory(2 ** 16, HASH_KEY);
    const words = new Uint32Array(memory.words);
    const groups = words[HEAD_GROUPS] ?? 0;
    for (let group = 0; group < groups; group++) {
      const line = HEAD_WORDS + group * GROUP_WORDS;
      for (let way = 0; way < WAYS; way++) words[line + 2 * way + 1] = claimOf(NOW_MS / 1_000);
    }
    return new LocalVelocity(memory);
  },
});
