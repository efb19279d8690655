import { KeyCache } from '../../src/auth/key-cache.ts';
import { fresh } from './fixtures.ts';
import { keyText, storedKey } from './keys.ts';
import { Ring, type Stage } from './stage.ts';

/** More texts than the key cache holds, so that cycling through them never hits it. */
const TEXTS = 16_384;
const PER_SAMPLE = 256;

export const keyCache: Stage = {
  name: 'keyring',
  add(tasks) {
    const known = Array.from({ length: TEXTS }, (_, n) => keyText('sk', n));
    const unknown = Array.from({ length: TEXTS }, (_, n) => keyText('sk', TEXTS + n));
    const stored = known.map((text, n) => storedKey(text, n + 1));
    for (const [name, texts, isKnown] of [
      ['known', known, true],
      ['unknown', unknown, false],
    ] as const) {
      const first = new KeyCache();
      first.load(stored);
      const all = new Ring(texts);
      tasks.add(`${name}, first time`, {
        perSample: PER_SAMPLE,
        run: (n) => first.find(all.at(n)),
        isSane: (found) => found.known === isKnown,
      });
      const again = new KeyCache();
      again.load(stored);
      const few = texts.slice(0, PER_SAMPLE);
      let now = new Ring(few);
      tasks.add(`${name}, again`, {
        perSample: PER_SAMPLE,
        prepare() {
          for (const text of few) again.find(text);
          now = new Ring(few.map(fresh));
        },
        run: (n) => again.find(now.at(n)),
        isSane: (found) => found.known === isKnown,
      });
    }
    return {};
  },
};
