import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeModel, writeModel } from '../../../scripts/make-model.ts';
import { GEO_PACKAGES, findPackage } from '../../../src/assets/asset-files.ts';
import { checkGeoFile, slotOfType } from '../../../src/assets/geo-file.ts';
import { loadRuntime } from '../../../src/score/model-session.ts';
import { anonymousDatabase, asnDatabase, cityDatabase, countryDatabase } from '../../support/geo-databases.ts';
import { LayerFolders, until } from '../../support/layer-folders.ts';
import { shared, writeMmdb } from '../../support/mmdb-writer.ts';

const hasRuntime = loadRuntime() !== null;
let folders: LayerFolders;
beforeEach(() => {
  folders = new LayerFolders();
});
afterEach(() => folders.close());

describe('slotOfType', () => {
  it.each([
    ['GeoLite2-City', 'city'],
    ['GeoIP2-Enterprise', 'city'],
    ['DBIP-City-Lite', 'city'],
    ['DBIP-Location (compat=City)', 'city'],
    ['GeoLite2-Country', 'country'],
    ['country ipvAll', 'country'],
    ['ipinfo country_asn.mmdb', 'country'],
    ['GeoLite2-ASN', 'asn'],
    ['GeoIP2-ISP', 'asn'],
    ['GeoIP2-Anonymous-IP', 'anonymiser'],
    ['ipinfo privacy_detection', 'anonymiser'],
    ['IP2Proxy-IP-PROXYTYPE', 'anonymiser'],
    ['Gatehouse-Networks', 'networks'],
    ['Gatehouse-ASN', 'asn'],
    ['GeoIP2-Connection-Type', null],
    ['', null],
  ])('A database of the type %s fills the slot %s', (type, slot) => {
    expect(slotOfType(type)).toBe(slot);
  });
});

describe('checkGeoFile', () => {
  it.each([
    ['city', cityDatabase()],
    ['country', countryDatabase()],
    ['asn', asnDatabase()],
    ['anonymiser', anonymousDatabase()],
  ])('Records are found in a sparse %s file', (slot, bytes) => {
    expect(checkGeoFile({ name: 'x.mmdb', bytes: shared(bytes) })).toMatchObject({ kind: 'ok', slot });
  });

  it('A file without a known field is refused', () => {
    const bytes = writeMmdb({ type: 'GeoLite2-City', ipVersion: 4, networks: { '10.0.0.0/8': { colour: 'red' } } });
    const checked = checkGeoFile({ name: 'x.mmdb', bytes: shared(bytes) });
    expect(checked).toMatchObject({ kind: 'fault', slot: 'city' });
    expect(checked.kind === 'fault' && checked.detail).toContain('sample');
  });
});

describe('GeoIP folder', () => {
  it('Every asset is absent when the folders are empty or missing', async () => {
    const layers = await folders.open({ geoipDir: join(folders.root, 'nowhere'), modelsDir: join(folders.root, 'no') });
    expect(layers.status()).toEqual({
      geoip_city: { state: 'absent', version: null, detail: 'no city or country database', refused: false },
      geoip_country: { state: 'absent', version: null, detail: '', refused: false },
      geoip_asn: { state: 'absent', version: null, detail: '', refused: false },
      anonymiser: { state: 'absent', version: null, detail: '', refused: false },
      networks: { state: 'absent', version: null, detail: '', refused: false },
      hosting_networks: {
        state: 'ok',
        version: expect.stringMatching(/^built-in \d{4}-\d\d-\d\d, \d+ networks$/) as string,
        detail: expect.any(String) as string,
        refused: false,
      },
      model: { state: 'absent', version: null, detail: 'no model: rules decide alone', refused: false },
    });
  });

  it('Files are identified by their metadata, whatever their names', async () => {
    folders.put('a.mmdb', cityDatabase());
    folders.put('b.mmdb', asnDatabase());
    folders.put('city.mmdb', anonymousDatabase());
    const layers = await folders.open();
    expect(layers.status()).toMatchObject({
      geoip_city: { state: 'ok', version: 'GeoLite2-City 2026-05-28', detail: '' },
      geoip_asn: { state: 'ok', version: 'GeoLite2-ASN 2026-05-28' },
      hosting_networks: { state: 'ok', detail: 'not used: a database replaces it' },
      anonymiser: { state: 'ok', version: 'GeoIP2-Anonymous-IP 2026-05-28' },
    });
  });

  it('The newest of several files for one slot is used', async () => {
    folders.put('a.mmdb', cityDatabase('DE', 1_700_000_000));
    folders.put('b.mmdb', cityDatabase('AT', 1_750_000_000));
    folders.put('c.mmdb', cityDatabase('CH', 1_720_000_000));
    const city = (await folders.open()).initial().geo.city;
    expect(city.kind === 'ready' && city.files.map((file) => file.name)).toEqual(['b.mmdb']);
  });

  it('A country database alone is ok, with a note in the detail', async () => {
    folders.put('c.mmdb', countryDatabase());
    const { geoip_city: status } = (await folders.open()).status();
    expect(status.state).toBe('ok');
    expect(status.detail).toContain('countries only');
  });

  it('A file of an unknown type is reported and affects no other file', async () => {
    folders.put('a.mmdb', cityDatabase());
    folders.put('b.mmdb', writeMmdb({ type: 'Shoe-Sizes', ipVersion: 4, networks: { '10.0.0.0/8': { size: 44 } } }));
    const { geoip_city: status } = (await folders.open()).status();
    expect(status.state).toBe('ok');
    expect(status.detail).toContain('b.mmdb was refused: its type "Shoe-Sizes" is not used');
    expect(folders.warnings).toHaveLength(1);
  });

  it('A detail contains no folder name', async () => {
    folders.put('city.mmdb', Buffer.from('x'));
    writeModel(folders.models, makeModel('garbage'));
    const text = JSON.stringify((await folders.open()).status());
    expect(text).toContain('city.mmdb');
    expect(text).not.toContain(folders.root);
  });

  it('A new file is used only after two polls saw it unchanged', async () => {
    const layers = await folders.open();
    const whole = cityDatabase();
    const path = join(folders.geoip, 'city.mmdb');
    writeFileSync(path, whole.subarray(0, 100));
    await layers.poll();
    writeFileSync(path, whole.subarray(0, 200));
    await layers.poll();
    writeFileSync(path, whole);
    await layers.poll();
    expect(layers.status().geoip_city.state).toBe('absent');
    expect(folders.warnings).toEqual([]);
    await layers.poll();
    expect(layers.status().geoip_city.state).toBe('ok');
  });

  it('The old file stays in use when a bad one replaces it, and the next good one is used', async () => {
    folders.put('x.mmdb', cityDatabase('DE'));
    const layers = await folders.open();
    const before = layers.initial().geo.city;
    folders.put('x.mmdb', cityDatabase('AT').subarray(0, 300));
    await layers.poll();
    await layers.poll();
    expect(layers.initial().geo.city).toBe(before);
    const status = layers.status().geoip_city;
    expect(status).toMatchObject({ state: 'ok', version: 'GeoLite2-City 2026-05-28', refused: true });
    expect(status.detail).toContain('x.mmdb was refused');
    folders.put('x.mmdb', cityDatabase('AT'));
    await layers.poll();
    await layers.poll();
    expect(layers.initial().geo.city.generation).toBeGreaterThan(before.generation);
    expect(layers.status().geoip_city).toMatchObject({ detail: '', refused: false });
  });

  it('The status shows the country database separately from the asset that rules use', async () => {
    folders.put('city.mmdb', cityDatabase());
    folders.put('country.mmdb', countryDatabase());
    const layers = await folders.open();
    expect(layers.status().geoip_country).toMatchObject({ state: 'ok', version: 'country ipvAll 2026-05-28' });
    folders.put('country.mmdb', Buffer.from('rubbish'));
    await layers.poll();
    await layers.poll();
    expect(layers.status().geoip_country).toMatchObject({ state: 'ok', refused: true });
    expect(layers.status().geoip_asn.refused).toBe(false);
  });

  it('A removed file is replaced by the next best one, if there is one', async () => {
    folders.put('x.mmdb', cityDatabase());
    folders.put('y.mmdb', countryDatabase());
    const layers = await folders.open();
    folders.remove('x.mmdb');
    await layers.poll();
    expect(layers.status().geoip_city.version).toContain('City');
    await layers.poll();
    expect(layers.status().geoip_city.version).toContain('country');
    folders.remove('y.mmdb');
    await layers.poll();
    await layers.poll();
    expect(layers.status().geoip_city.state).toBe('absent');
  });

  it('The folder is polled automatically', async () => {
    const layers = await folders.open({ pollMs: 10 });
    folders.put('x.mmdb', cityDatabase());
    await until(() => layers.status().geoip_city.state === 'ok');
    expect(layers.initial().geo.city.kind).toBe('ready');
  });
});

describe('installed packages', async () => {
  const packages = GEO_PACKAGES.filter((entry) => entry.slot === 'country');
  const installed = (await Promise.all(packages.map((entry) => findPackage(entry)))).some((at) => at !== null);

  it.skipIf(!installed)('An installed package is used while the folder has no valid file', async () => {
    const version = expect.stringContaining('geo-whois-asn-country') as string;
    const layers = await folders.open({ packages });
    expect(layers.status().geoip_city).toMatchObject({ state: 'ok', version });
    folders.put('country.mmdb', Buffer.from('rubbish'));
    await layers.poll();
    await layers.poll();
    expect(layers.status().geoip_city).toMatchObject({ state: 'ok', version });
    expect(layers.status().geoip_city.detail).toContain('country.mmdb was refused');
    folders.put('country.mmdb', countryDatabase());
    await layers.poll();
    await layers.poll();
    expect(layers.status().geoip_city.version).toBe('country ipvAll 2026-05-28');
    folders.remove('country.mmdb');
    await layers.poll();
    await layers.poll();
    expect(layers.status().geoip_city).toMatchObject({ state: 'ok', version });
  });

  it('A package that is not installed is not an error', async () => {
    const layers = await folders.open({
      packages: [{ slot: 'city', name: '@gatehouse/no-such-package', files: ['x.mmdb'] }],
    });
    expect(layers.status().geoip_city.state).toBe('absent');
  });
});

describe.skipIf(!hasRuntime)('models folder', () => {
  it('A model is loaded, stays in use when a bad one replaces it, and is unloaded when it is removed', async () => {
    const layers = await folders.open();
    writeModel(folders.models, makeModel());
    await layers.poll();
    await layers.poll();
    expect(layers.status().model).toEqual({ state: 'ok', version: 'toy 1', detail: '', refused: false });
    writeModel(folders.models, makeModel('wrong_golden', '2'));
    await layers.poll();
    await layers.poll();
    expect(layers.status().model).toMatchObject({ state: 'ok', version: 'toy 1', refused: true });
    expect(layers.status().model.detail).toContain('golden_failed');
    rmSync(join(folders.models, 'model.json'));
    await layers.poll();
    await layers.poll();
    expect(layers.status().model.detail).toContain('manifest_missing');
    rmSync(join(folders.models, 'model.onnx'));
    await layers.poll();
    await layers.poll();
    expect(layers.status().model.state).toBe('absent');
  });

  it('The model is broken when the first one is bad', async () => {
    writeModel(folders.models, makeModel('garbage'));
    const layers = await folders.open();
    expect(layers.status().model).toMatchObject({ state: 'broken', version: null });
    expect(layers.status().model.detail).toContain('load_failed');
  });
});

describe('workers', () => {
  it('A worker starts with the current assets, swaps them, and acknowledges', async () => {
    folders.put('x.mmdb', cityDatabase('DE'));
    const layers = await folders.open();
    const worker = await folders.startWorker(layers);
    expect(await worker.ask()).toMatchObject({ country: 'DE', degraded: false });
    folders.put('x.mmdb', cityDatabase('AT'));
    await layers.poll();
    await layers.poll();
    await until(async () => (await worker.ask()).country === 'AT');
    // The worker released its own copy and left the main thread's set untouched.
    expect(layers.initial().geo.city.kind).toBe('ready');
    const late = await folders.startWorker(layers);
    expect((await late.ask()).country).toBe('AT');
  });

  it('A worker receives changes that happened between its workerData and its first listening', async () => {
    const layers = await folders.open();
    // This worker's workerData is cloned now, and contains no database.
    const starting = folders.startWorker(layers);
    folders.put('x.mmdb', cityDatabase('CH'));
    await layers.poll();
    await layers.poll();
    const worker = await starting;
    await until(async () => (await worker.ask()).country === 'CH');
    expect((await worker.ask()).degraded).toBe(false);
  });

  it('A worker is degraded without a city or country database', async () => {
    const layers = await folders.open();
    const worker = await folders.startWorker(layers);
    expect(await worker.ask()).toMatchObject({ country: null, degraded: true });
  });

  it.skipIf(!hasRuntime)('A worker is degraded by a refused model, and not by a missing one', async () => {
    folders.put('x.mmdb', cityDatabase());
    const layers = await folders.open();
    const worker = await folders.startWorker(layers);
    expect((await worker.ask()).degraded).toBe(false);
    writeModel(folders.models, makeModel('garbage'));
    await layers.poll();
    await layers.poll();
    await until(async () => (await worker.ask()).degraded);
    writeModel(folders.models, makeModel());
    await layers.poll();
    await layers.poll();
    await until(async () => (await worker.ask()).model === 'toy 1');
    expect((await worker.ask()).degraded).toBe(false);
  });

  it('A database that fails in use in a worker is reported as broken until the worker is forgotten', async () => {
    // A record that no sample reads is damaged: all other addresses of 0.0.0.0/1 are intact.
    const bytes = writeMmdb({
      type: 'city',
      ipVersion: 4,
      networks: { '0.0.0.0/1': { country_code: 'DE' }, '10.10.10.10/32': { country_code: 'FR', city: 'BROKEN' } },
    });
    bytes.writeUInt8(0, bytes.indexOf('BROKEN') - 1);
    bytes.writeUInt8(0xff, bytes.indexOf('BROKEN'));
    folders.put('x.mmdb', bytes);
    const layers = await folders.open();
    const worker = await folders.startWorker(layers);
    expect(layers.status().geoip_city.state).toBe('ok');
    expect(await worker.ask('10.10.10.10')).toMatchObject({ country: null, degraded: true });
    await until(() => layers.status().geoip_city.state === 'broken');
    expect(layers.status().geoip_city.detail).toContain('in a worker: a look-up failed');
    layers.forgetWorker(worker.threadId);
    expect(layers.status().geoip_city.state).toBe('ok');
  });
});
