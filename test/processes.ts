import { MARKING } from '../src/kernel/garbage-collection.ts';

/**
 * Options of the processes that run tests: they collect garbage less often, and alone. Several of them share the processors, and the
 * helper threads of each would wait for one.
 * Measured: 0.88 of the processor time (medians of five runs in turn, a fifth of the unit tests on two processors).
 */
export const FEW_COLLECTIONS: string[] = [
  '--max-semi-space-size=32',
  '--initial-old-space-size=256',
  '--no-parallel-scavenge',
  MARKING,
];
