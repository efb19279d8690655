import { randomOf } from '../../scripts/traffic/random.ts';
import { CUSTOMER, fingerprintOf, makeStore, NOW_SECONDS, SEED } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

/** Number of fingerprints looked up, drawn in random order. */
const ASKED = 16_384;

export const lmdb: Stage = {
  name: 'LMDB',
  async add(tasks, { smoke }) {
    const entries = smoke ? 1_000 : 100_000;
    const { store, close } = await makeStore(entries);
    const random = randomOf(SEED);
    const known = Ring.of(ASKED, () => fingerprintOf(Math.floor(random() * entries)));
    const unknown = Ring.of(ASKED, (n) => fingerprintOf(entries + n));
    tasks.add('lists.find, found', {
      perSample: 256,
      run: (n) => store.lists.find(CUSTOMER, known.at(n), NOW_SECONDS),
      isSane: (action) => action === 'watch',
    });
    tasks.add('lists.find, not found', {
      perSample: 256,
      run: (n) => store.lists.find(CUSTOMER, unknown.at(n), NOW_SECONDS),
      isSane: (action) => action === null,
    });
    tasks.add('registry.find, found', {
      perSample: 256,
      run: (n) => store.registry.find(known.at(n), NOW_SECONDS),
      isSane: (facts) => facts?.customers === 3 && facts.risk > 70,
    });
    tasks.add('registry.find, not found', {
      perSample: 256,
      run: (n) => store.registry.find(unknown.at(n), NOW_SECONDS),
      isSane: (facts) => facts === null,
    });
    tasks.add('resetRead and one find', {
      perSample: 64,
      run(n) {
        store.resetRead();
        return store.lists.find(CUSTOMER, known.at(n), NOW_SECONDS);
      },
      isSane: (action) => action === 'watch',
    });
    return { close, notes: () => [`LMDB: ${entries.toLocaleString('en')} entries in each of the two tables`] };
  },
};
