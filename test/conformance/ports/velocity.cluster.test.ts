import { describe } from 'vitest';
import type { SettledEvent } from '../../../src/ports/velocity.ts';
import { GROUP_WORDS, HEAD_GROUPS, HEAD_WORDS, WAYS } from '../../../src/velocity/layout.ts';
import { createVelocityMemory } from '../../../src/velocity/memory.ts';
import { claimOf } from '../../../src/velocity/state.ts';
import { HAS_REDIS } from '../../support/redis.ts';
import { useStoreLink } from '../../support/store-links.ts';
import { emptySpaceOf, openVelocityNode } from '../../support/velocity-nodes.ts';
import { HASH_KEY, NOW_MS } from '../../unit/velocity/events.ts';
import { describeVelocity, type VelocitySubject } from './velocity.ts';

const store = useStoreLink();

/** Other workers are creating a record in each slot. */
function openUnavailable(): VelocitySubject {
  const memory = createVelocityMemory(2 ** 16, HASH_KEY);
  const words = new Uint32Array(memory.words);
  const groups = words[HEAD_GROUPS] ?? 0;
  for (let group = 0; group < groups; group++) {
    const line = HEAD_WORDS + group * GROUP_WORDS;
    for (let way = 0; way < WAYS; way++) words[line + 2 * way + 1] = claimOf(NOW_MS / 1_000);
  }
  return openVelocityNode(emptySpaceOf(store.link), memory).worker();
}

describe.runIf(HAS_REDIS)('over several nodes', () => {
  describeVelocity('each instance a worker of one node', {
    open() {
      const node = openVelocityNode(emptySpaceOf(store.link));
      return () => node.worker();
    },
    openUnavailable,
  });

  describeVelocity('each instance a node', {
    open() {
      const space = emptySpaceOf(store.link);
      let reported: Promise<unknown> = Promise.resolve();
      return () => {
        const velocity = openVelocityNode(space).worker();
        return {
          /** The endpoint for outcomes responds when all nodes can know what was reported. */
          async observe(events) {
            await reported;
            return velocity.observe(events);
          },
          settle(settled: SettledEvent) {
            reported = Promise.all([reported, velocity.settle(settled)]);
          },
        };
      };
    },
    openUnavailable,
  });
});
