import { Ring, type Stage } from './stage.ts';

/** What the bench itself costs: a call and a step round a ring. Part of every other row. */
export const empty: Stage = {
  name: 'empty',
  add(tasks) {
    const ring = Ring.of(256, (n) => `text ${n}`);
    tasks.add('nothing', { perSample: 4_096, run: (n) => ring.at(n), isSane: (text) => text.startsWith('text') });
    return {};
  },
};
