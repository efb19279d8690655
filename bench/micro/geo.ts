import { randomOf } from '../../scripts/traffic/random.ts';
import type { GeoFacts } from '../../src/risk/facts.ts';
import { findPackage, GEO_PACKAGES } from '../../src/assets/asset-files.ts';
import { GeoCheck } from '../../src/assets/geo-check.ts';
import type { GeoContent, GeoSlot, SharedFile } from '../../src/assets/asset-messages.ts';
import { createGeoIp } from '../../src/score/geoip.ts';
import { fresh, SEED } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

/** More addresses than the worker's cache holds, so that cycling through them never hits it. */
const UNSEEN = 32_768;
const KEPT = 256;
const FIRST_OCTETS = [24, 31, 46, 62, 71, 78, 81, 84, 88, 92, 109, 134, 151, 178, 188, 193, 201, 212];

export const geo: Stage = {
  name: 'geo',
  async add(tasks) {
    const contents = await loadPackages();
    const absent = Object.values(contents).every(({ kind }) => kind === 'absent');
    if (absent) return { notes: () => ['geo: no database is installed; nothing was measured'] };
    const geoIp = createGeoIp(contents);
    const keeping = createGeoIp(contents);
    const random = randomOf(SEED);
    const octet = (): number => Math.floor(random() * 256);
    const next = (): string => {
      for (;;) {
        const first = FIRST_OCTETS[Math.floor(random() * FIRST_OCTETS.length)] ?? 81;
        const ip = `${first}.${octet()}.${octet()}.${octet()}`;
        if (isKnown(geoIp.lookup(ip, 4))) return ip;
      }
    };
    const unseen = Ring.of(UNSEEN, next);
    tasks.add('unseen', { perSample: 64, run: (n) => geoIp.lookup(unseen.at(n), 4), isSane: isKnown });
    let kept = Ring.of(KEPT, (n) => unseen.at(n));
    tasks.add('kept', {
      perSample: KEPT,
      prepare() {
        for (let n = 0; n < KEPT; n++) keeping.lookup(unseen.at(n), 4);
        kept = Ring.of(KEPT, (n) => fresh(unseen.at(n)));
      },
      run: (n) => keeping.lookup(kept.at(n), 4),
      isSane: isKnown,
    });
    return {};
  },
};

/** Loads the databases of installed packages; slots without a package are absent. */
export async function loadPackages(): Promise<Record<GeoSlot, GeoContent>> {
  const none: GeoContent = { kind: 'absent', generation: 0, detail: '' };
  const contents: Record<GeoSlot, GeoContent> = {
    city: none,
    country: none,
    asn: none,
    anonymiser: none,
    networks: none,
    domains: none,
  };
  const check = new GeoCheck();
  for (const entry of GEO_PACKAGES) {
    const { slot, name, files } = entry;
    const found = await findPackage(entry);
    if (found === null) continue;
    const loaded: SharedFile[] = [];
    for (const file of files) {
      const one = await check.load(found.folder, file);
      if (one.kind !== 'ok') throw new Error(`a file of ${name} does not load`);
      loaded.push(one.file);
    }
    contents[slot] = { kind: 'ready', generation: 1, version: `${name} ${found.version}`, files: loaded };
  }
  check.close();
  return contents;
}

function isKnown(facts: GeoFacts | null): boolean {
  return facts !== null && facts.country !== null;
}
