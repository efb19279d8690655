import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GEO_SLOTS, type GeoContent } from '../../src/assets/asset-messages.ts';
import { checkGeoFile } from '../../src/assets/geo-file.ts';
import { createGeoIp } from '../../src/score/geoip.ts';
import { leastCpuMs } from '../support/cpu-time.ts';
import { anonymousDatabase, asnDatabase, cityDatabase } from '../support/geo-databases.ts';
import { LayerFolders, until } from '../support/layer-folders.ts';
import { shared } from '../support/mmdb-writer.ts';

let folders: LayerFolders;
beforeEach(() => {
  folders = new LayerFolders();
});
afterEach(() => folders.close());

/** Mulberry32: a small seeded generator, so that a failing mutant can be reproduced. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Overwrites one to eight bytes, or cuts out, duplicates or zeroes a part. */
function mutant(original: Buffer, seed: number): Buffer {
  const random = generator(seed);
  const bytes = Buffer.from(original);
  const at = random(bytes.length);
  const length = 1 + random(Math.min(64, bytes.length - at));
  switch (random(5)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
    case 1:
      return Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
    case 2:
      return bytes.fill(0, at, at + length);
    default:
      for (let i = 0; i <= random(8); i++) bytes.writeUInt8(random(256), random(bytes.length));
      return bytes;
  }
}

const ABSENT: GeoContent = { kind: 'absent', generation: 0, detail: '' };
const ADDRESSES: readonly (readonly [string, 4 | 6])[] = [
  ['203.0.113.1', 4],
  ['203.0.113.7', 4],
  ['198.51.100.1', 4],
  ['192.0.2.255', 4],
  ['8.8.8.8', 4],
  ['2001:db8::1', 6],
  ['::', 6],
];

describe('mutants of GeoIP files', () => {
  it.each([
    ['city', cityDatabase()],
    ['asn', asnDatabase()],
    ['anonymiser', anonymousDatabase()],
  ] as const)('%s: each of 1,000 mutants is rejected or usable, and none throws or blocks', (slot, original) => {
    const outcomes = { refused: 0, taken: 0 };
    for (let seed = 1; seed <= 1_000; seed++) {
      const bytes = shared(mutant(original, seed));
      let taken = false;
      const ms = leastCpuMs(1_000, () => {
        const checked = checkGeoFile({ name: 'x.mmdb', bytes });
        taken = checked.kind === 'ok';
        // This includes mutants that the main thread rejects, because a worker must survive them too.
        const geo = createGeoIp({
          city: ABSENT,
          country: ABSENT,
          asn: ABSENT,
          anonymiser: ABSENT,
          networks: ABSENT,
          domains: ABSENT,
          [slot]: { kind: 'ready', generation: 1, version: '1', files: [{ name: 'x.mmdb', bytes }] },
        });
        for (const [ip, version] of ADDRESSES) {
          const facts = geo.lookup(ip, version);
          expect(Number.isNaN(facts?.latitude ?? 0), `seed ${seed}`).toBe(false);
        }
      });
      expect(ms, `seed ${seed}`).toBeLessThan(1_000);
      outcomes[taken ? 'taken' : 'refused'] += 1;
    }
    // Both outcomes occur, so both code paths were tested.
    expect(outcomes.refused).toBeGreaterThan(50);
    expect(outcomes.taken).toBeGreaterThan(50);
  });

  it('Every truncated GeoIP file is rejected', () => {
    const whole = cityDatabase();
    for (let length = 0; length < whole.length; length++) {
      const checked = checkGeoFile({ name: 'x.mmdb', bytes: shared(whole.subarray(0, length)) });
      expect(checked.kind, `${length} bytes`).toBe('fault');
    }
  });

  it('20 mutants that replace each other while a worker runs never stop the worker', async () => {
    folders.put('x.mmdb', cityDatabase('DE'));
    const layers = await folders.open();
    const worker = await folders.startWorker(layers);
    for (let seed = 1; seed <= 20; seed++) {
      folders.put('x.mmdb', mutant(cityDatabase('DE'), seed));
      await layers.poll();
      await layers.poll();
      for (const [ip] of ADDRESSES.slice(0, 5)) await worker.ask(ip);
    }
    folders.put('x.mmdb', cityDatabase('AT'));
    await layers.poll();
    await layers.poll();
    await until(async () => (await worker.ask()).country === 'AT');
    expect((await worker.ask()).degraded).toBe(false);
  });
});

describe('bad GeoIP files', () => {
  it.each([
    ['empty', Buffer.alloc(0)],
    ['garbage', Buffer.alloc(100_000, 'rubbish ')],
    ['only a marker', Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')],
  ])('%s: with this bad GeoIP file the layer is broken and enrichment is off', async (_name, bytes) => {
    folders.put('GeoLite2-City.mmdb', bytes);
    const layers = await folders.open();
    expect(layers.status().geoip_city.state).toBe('broken');
    const worker = await folders.startWorker(layers);
    expect(await worker.ask()).toMatchObject({ country: null, degraded: true });
  });

  it('A GeoIP file that is truncated in place leaves the previous one active', async () => {
    folders.put('x.mmdb', cityDatabase('DE'));
    const layers = await folders.open();
    const worker = await folders.startWorker(layers);
    truncateSync(join(folders.geoip, 'x.mmdb'), 200);
    await layers.poll();
    await layers.poll();
    expect(layers.status().geoip_city).toMatchObject({ state: 'ok' });
    expect(layers.status().geoip_city.detail).toContain('x.mmdb was refused');
    expect(await worker.ask()).toMatchObject({ country: 'DE', degraded: false });
  });
});

describe('replacing a GeoIP file under load', () => {
  it('While a GeoIP file is replaced 20 times under load, every answer is from one of the files', async () => {
    folders.put('x.mmdb', cityDatabase('DE'));
    const layers = await folders.open();
    const workers = [await folders.startWorker(layers), await folders.startWorker(layers)];
    const seen = new Set<string | null>();
    const run = { on: true };
    const load = Promise.all(
      workers.map(async (worker) => {
        while (run.on) seen.add((await worker.ask()).country);
      }),
    );
    await until(() => seen.has('DE'));
    for (let i = 0; i < 20; i++) {
      const country = i % 2 === 0 ? 'AT' : 'CH';
      folders.put('x.mmdb', cityDatabase(country));
      await layers.poll();
      await layers.poll();
      await until(() => seen.has(country));
      const { generation } = layers.initial().geo.city;
      // The start used one for each slot, one for the model and one for its challenger.
      expect(generation).toBe(GEO_SLOTS.length + 3 + i);
    }
    run.on = false;
    await load;
    expect(seen).toEqual(new Set(['AT', 'CH', 'DE']));
  });
});
