import { Ring, type Stage } from './stage.ts';

/** Measures the overhead of the bench itself: one call and one ring access. It is part of every other row. */
export const empty: Stage = {
  name: 'empty',
  add(tasks) {
    const ring = Ring.of(256, (n) => `text ${n}`);
    tasks.add('nothing', { perSample: 4_096, run: (n) => ring.at(n), isSane: (text) => text.startsWith('text') });
    return {};
  },
};
