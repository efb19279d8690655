import { ReplayGuard } from '../../src/local/replay-guard.ts';
import type { AdmittedId } from '../../src/ports/admission.ts';
import { REPLAY_IDS_DEFAULT, REPLAY_KEEP_SECONDS } from '../../src/kernel/limits.ts';
import { randomOf } from '../../scripts/traffic/random.ts';
import { collectGarbage, fresh, NOW_SECONDS, SEED } from './fixtures.ts';
import type { Stage } from './stage.ts';

const HASH_KEY = Buffer.alloc(16, 7);
const KEYS = 4;
/**
 * Numbers of ids at which the table's memory is measured: around the doubling of its segments, at 1,000,000, and when it is nearly full
 * again.
 */
const MEMORY_AT = [700_000, 850_000, 1_000_000, 1_450_000] as const;
/** Same as in the server: each call cleans one part of the table, so that all 1,024 parts are done in about 51 s. */
const SWEEPS_A_SECOND = 20;

/** A table in steady state with `ids` entries: each sample is one second of traffic, and the same number of ids expires before it. */
export const replay: Stage = {
  name: 'replay guard',
  add(tasks, { smoke }) {
    const ids = smoke ? 10_000 : 1_000_000;
    const aSecond = Math.ceil(ids / REPLAY_KEEP_SECONDS);
    const notes = memoryNotes(smoke ? 100 : 1);
    const guard = new ReplayGuard(REPLAY_IDS_DEFAULT, HASH_KEY);
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
    const admit = (n: number): AdmittedId | string =>
      guard.admit(1 + (n % KEYS), texts[n % aSecond] ?? '', second, second);
    for (let n = 0; n < ids; n++) {
      if (n % aSecond === 0) nextSecond();
      admit(n);
    }
    tasks.add(`admit at ${guard.size.toLocaleString('en')} ids`, {
      perSample: aSecond,
      prepare: nextSecond,
      run: admit,
      isSane: (outcome) => typeof outcome !== 'string',
    });
    // Ids of the last second, each sent by its own key.
    tasks.add('admit a replayed id', {
      perSample: aSecond,
      prepare() {
        nextSecond();
        for (let n = 0; n < aSecond; n++) guard.admit(1, texts[n] ?? '', second, second);
      },
      run: (n) => guard.admit(1, texts[n % aSecond] ?? '', second, second),
      isSane: (outcome) => outcome === 'replayed',
    });
    return { notes: () => [notes, `replay guard: ${guard.size.toLocaleString('en')} ids stored at the end`] };
  },
};

function memoryNotes(divisor: number): string {
  const random = randomOf(SEED);
  const word = (): number => Math.floor(random() * 2 ** 32);
  collectGarbage();
  const before = process.memoryUsage().rss;
  const guard = new ReplayGuard(REPLAY_IDS_DEFAULT, HASH_KEY);
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
    const bytes = process.memoryUsage().rss - before;
    found.push(`${(bytes / guard.size).toFixed(1)} at ${guard.size.toLocaleString('en')}`);
  }
  return `replay guard, bytes per id: ${found.join(', ')}`;
}
