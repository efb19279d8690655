import { LocalReplayGuard } from '../../src/decide/replay-guard.ts';
import { REPLAY_IDS_DEFAULT, REPLAY_KEEP_SECONDS } from '../../src/limits.ts';
import { randomOf } from '../traffic.ts';
import { collectGarbage, fresh, NOW_SECONDS, SEED } from './fixtures.ts';
import type { Stage } from './stage.ts';

const HASH_KEY = Buffer.alloc(16, 7);
const KEYS = 4;
/** Ids at which the table's memory is looked at: around where its segments double, at 1,000,000, and nearly full again. */
const MEMORY_AT = [700_000, 850_000, 1_000_000, 1_450_000] as const;
/** As the server does it: a part of the table each, all of its 1,024 in some 51 s. */
const SWEEPS_A_SECOND = 20;

/** A table that holds `ids` and goes on: each sample is one second of traffic, and as many ids run out before it. */
export const replay: Stage = {
  name: 'replay guard',
  add(tasks, { smoke }) {
    const ids = smoke ? 10_000 : 1_000_000;
    const aSecond = Math.ceil(ids / REPLAY_KEEP_SECONDS);
    const notes = memoryNotes(smoke ? 100 : 1);
    const guard = new LocalReplayGuard(REPLAY_IDS_DEFAULT, HASH_KEY);
    let second = NOW_SECONDS;
    let serial = 0;
    let texts: string[] = [];
    const nextSecond = (): void => {
      second++;
      for (let n = 0; n < SWEEPS_A_SECOND; n++) guard.sweep(second);
      texts = Array.from({ length: aSecond }, () =>
        fresh(`5f0c4a52-1f1f-4b0f-9c8e-${String(serial++).padStart(12, '0')}`),
      );
    };
    const admit = (n: number): string => guard.admit(1 + (n % KEYS), texts[n % aSecond] ?? '', second, second);
    for (let n = 0; n < ids; n++) {
      if (n % aSecond === 0) nextSecond();
      admit(n);
    }
    tasks.add(`admit at ${guard.size.toLocaleString('en')} ids`, {
      perSample: aSecond,
      prepare: nextSecond,
      run: admit,
      isSane: (outcome) => outcome === 'accepted',
    });
    // The ids of the last second, each by the key that sent it.
    tasks.add('admit a replayed id', {
      perSample: aSecond,
      prepare() {
        nextSecond();
        for (let n = 0; n < aSecond; n++) guard.admit(1, texts[n] ?? '', second, second);
      },
      run: (n) => guard.admit(1, texts[n % aSecond] ?? '', second, second),
      isSane: (outcome) => outcome === 'replayed',
    });
    return { notes: () => [notes, `replay guard: ${guard.size.toLocaleString('en')} ids held at the end`] };
  },
};

function memoryNotes(divisor: number): string {
  const random = randomOf(SEED);
  const word = (): number => Math.floor(random() * 2 ** 32);
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const guard = new LocalReplayGuard(REPLAY_IDS_DEFAULT, HASH_KEY);
  const found: string[] = [];
  let count = 0;
  for (const checkpoint of MEMORY_AT) {
    const ids = checkpoint / divisor;
    for (; count < ids; count++) {
      guard.restore({
        hashLow: word(),
        hashHigh: word(),
        expiresAtSeconds: NOW_SECONDS + REPLAY_KEEP_SECONDS,
        keyNumber: 1,
      });
    }
    // Twice: the memory that the first finds unused is given back beside the program, and by the second at the latest.
    collectGarbage();
    collectGarbage();
    const bytes = process.memoryUsage().arrayBuffers - before;
    found.push(`${(bytes / guard.size).toFixed(1)} at ${guard.size.toLocaleString('en')}`);
  }
  return `replay guard, bytes an id: ${found.join(', ')}`;
}
