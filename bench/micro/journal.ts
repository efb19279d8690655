import { join } from 'node:path';
import { openJournal } from '../../src/decide/journal.ts';
import { ReplayGuard } from '../../src/local/replay-guard.ts';
import { BATCH_REQUESTS_MAX, REPLAY_IDS_DEFAULT, REPLAY_KEEP_SECONDS } from '../../src/kernel/limits.ts';
import { randomOf } from '../../scripts/traffic/random.ts';
import { makeFolder, NOW_SECONDS, removeFolder, SEED } from './fixtures.ts';
import type { Stage } from './stage.ts';

const BATCH = 16;
const HASH_KEY = Buffer.alloc(16, 7);

export const journal: Stage = {
  name: 'journal',
  samplesMin: 5,
  add(tasks, { smoke }) {
    const folder = makeFolder();
    const random = randomOf(SEED);
    const word = (): number => Math.floor(random() * 2 ** 32);
    const entry = { hashLow: 0, hashHigh: 0, expiresAtSeconds: NOW_SECONDS + REPLAY_KEEP_SECONDS, keyNumber: 1 };

    const writing = openJournal(join(folder, 'write'), NOW_SECONDS, ignore).journal;
    tasks.add(`stage and commit of ${BATCH}`, {
      perSample: 16,
      run(n) {
        for (let i = 0; i < BATCH; i++) {
          entry.hashLow = n;
          entry.hashHigh = i;
          writing.stage(entry);
        }
        writing.commit(NOW_SECONDS);
        return writing.broken;
      },
      isSane: (broken) => broken === null,
    });

    const entries = smoke ? 9_984 : 1_000_000;
    const full = join(folder, 'read');
    const { journal: filling } = openJournal(full, NOW_SECONDS, ignore);
    for (let n = 1; n <= entries; n++) {
      filling.stage({ ...entry, hashLow: word(), hashHigh: word() });
      if (n % BATCH_REQUESTS_MAX === 0 || n === entries) filling.commit(NOW_SECONDS);
    }
    filling.close();

    tasks.addAsync(`read ${entries.toLocaleString('en')} ids back, reading only`, {
      perSample: entries,
      run() {
        const { read, journal } = openJournal(full, NOW_SECONDS, ignore);
        journal.close();
        return Promise.resolve(read);
      },
      isSane: (read) => read.entries === entries && read.damagedFiles === 0,
    });
    // As the service does at start.
    tasks.addAsync(`read ${entries.toLocaleString('en')} ids back, into the guard`, {
      perSample: entries,
      run() {
        const guard = new ReplayGuard(REPLAY_IDS_DEFAULT, HASH_KEY);
        const restorer = guard.restorer();
        const { read, journal } = openJournal(
          full,
          NOW_SECONDS,
          (one) => restorer.add(one),
          (ids) => restorer.reserve(ids),
        );
        restorer.done();
        journal.close();
        return Promise.resolve({ ...read, held: guard.size });
      },
      isSane: (read) => read.entries === entries && read.held === entries && read.damagedFiles === 0,
    });
    return {
      close() {
        writing.close();
        removeFolder(folder);
      },
    };
  },
};

function ignore(): void {}
