import { afterAll, describe, expect, it } from 'vitest';
import { readHostingTable } from '../../../src/risk/signals/hosting-networks.ts';
import { GEO_PACKAGES, findPackage } from '../../../src/assets/asset-files.ts';
import { GeoCheck } from '../../../src/assets/geo-check.ts';
import { type GeoContent, type GeoSlot, SHIPPED, type SharedFile } from '../../../src/assets/asset-messages.ts';
import { openMmdb } from '../../../src/assets/mmdb.ts';
import { MAIL_DOMAIN_BITS, mailDomainAddress } from '../../../src/risk/signals/mail-domains.ts';
import { createGeoIp } from '../../../src/score/geoip.ts';
import { anonymousDatabase, asnDatabase, cityDatabase, countryDatabase } from '../../support/geo-databases.ts';
import { shared, writeMmdb } from '../../support/mmdb-writer.ts';

const ABSENT: GeoContent = { kind: 'absent', generation: 0, detail: '' };
const NONE: Record<GeoSlot, GeoContent> = {
  city: ABSENT,
  country: ABSENT,
  asn: ABSENT,
  anonymiser: ABSENT,
  networks: ABSENT,
  domains: ABSENT,
};

function ready(generation: number, ...files: readonly Uint8Array[]): GeoContent {
  return {
    kind: 'ready',
    generation,
    version: `v${generation}`,
    files: files.map((bytes, i) => ({ name: `${i}.mmdb`, bytes: shared(bytes) })),
  };
}

const ALL: Record<GeoSlot, GeoContent> = {
  domains: ABSENT,
  city: ready(1, cityDatabase()),
  country: ready(1, countryDatabase()),
  asn: ready(1, asnDatabase()),
  anonymiser: ready(1, anonymousDatabase()),
  networks: ABSENT,
};

describe('lookup', () => {
  it('A look-up merges the data of all databases', () => {
    const geo = createGeoIp(ALL);
    expect(geo.lookup('203.0.113.7', 4)).toEqual({
      country: 'DE',
      latitude: 52.5,
      longitude: 13.25,
      accuracyKm: 20,
      asn: 64_500,
      organisation: 'Example Net',
      tor: true,
      proxy: false,
      residentialProxy: false,
      hosting: false,
      vpn: false,
      relay: false,
      anonymisersKnown: true,
    });
    expect(geo.lookup('203.0.113.8', 4)).toMatchObject({ hosting: true, vpn: true, tor: false });
    expect(geo.lookup('2001:db8::1', 6)).toMatchObject({ country: 'FR', asn: null });
  });

  it('A look-up uses the country database only if the city database has no country', () => {
    const geo = createGeoIp(ALL);
    expect(geo.lookup('203.0.113.1', 4)?.country).toBe('DE');
    expect(geo.lookup('192.0.2.1', 4)).toMatchObject({ country: 'NL', latitude: 1 });
    expect(createGeoIp({ ...NONE, country: ready(1, countryDatabase()) }).lookup('203.0.113.1', 4)?.country).toBe('BE');
  });

  it('A look-up returns null outside all networks, and without databases', () => {
    expect(createGeoIp(ALL).lookup('8.8.8.8', 4)).toBeNull();
    expect(createGeoIp(ALL).lookup('198.51.100.200', 4)).toBeNull();
    expect(createGeoIp(NONE).lookup('203.0.113.7', 4)).toBeNull();
  });

  it('A look-up of an IPv6 address ignores an IPv4 tree', () => {
    // The first bits of 2a00:: are those of 42.0.0.0.
    const four = writeMmdb({ type: 'city ipv4', ipVersion: 4, networks: { '42.0.0.0/8': { country_code: 'CN' } } });
    const six = writeMmdb({ type: 'city ipv6', ipVersion: 6, networks: { '2a00::/16': { country_code: 'SE' } } });
    expect(createGeoIp({ ...NONE, city: ready(1, four) }).lookup('2a00::1', 6)).toBeNull();
    const both = createGeoIp({ ...NONE, city: ready(1, four, six) });
    expect(both.lookup('2a00::1', 6)?.country).toBe('SE');
    expect(both.lookup('42.1.1.1', 4)?.country).toBe('CN');
  });
});

describe('the position of a record', () => {
  it.each([24, 28, 32] as const)('A tree with branches of %i bits leads to the right record', (recordSize) => {
    const networks = {
      '0.0.0.0/1': { country_code: 'DE' },
      '10.0.0.0/8': { country_code: 'FR' },
      '10.1.2.0/24': { country_code: 'NL' },
      '203.0.113.7/32': { country_code: 'BE' },
    };
    const six = { ...networks, '2001:db8::/32': { country_code: 'SE' }, '2001:db8:1:2:3::/80': { country_code: 'NO' } };
    for (const [ipVersion, all] of [
      [4, networks],
      [6, six],
    ] as const) {
      const bytes = writeMmdb({ type: 'country', ipVersion, networks: all, recordSize });
      const geo = createGeoIp({ ...NONE, country: ready(1, bytes) });
      const countryOf = (ip: string): string | null => geo.lookup(ip, ip.includes(':') ? 6 : 4)?.country ?? null;
      expect(
        ['1.2.3.4', '10.9.9.9', '10.1.2.255', '203.0.113.7', '203.0.113.8', '255.255.255.255'].map(countryOf),
      ).toEqual(['DE', 'FR', 'NL', 'BE', null, null]);
      expect(['2001:db8::1', '2001:db8:1:2:3::9', '2001:db9::'].map(countryOf)).toEqual(
        ipVersion === 4 ? [null, null, null] : ['SE', 'NO', null],
      );
    }
  });
});

describe('the table of hosting networks', () => {
  const hosting = readHostingTable(
    'gatehouse-hosting-networks 1 2026-11-22 2\nAS16509 Amazon\n203.0.113.0/24\nAS36183 Relay\n192.0.2.0/24',
  );

  it('The built-in table returns the network if there is no database of networks or anonymisers', () => {
    const geo = createGeoIp({ ...NONE, city: ready(1, cityDatabase()) }, () => {}, hosting);
    expect(geo.lookup('203.0.113.9', 4)).toMatchObject({ country: 'DE', asn: 16_509, organisation: 'Amazon' });
    expect(geo.lookup('192.0.2.1', 4)).toMatchObject({ latitude: 1, asn: 36_183 });
    expect(createGeoIp(NONE, () => {}, hosting).lookup('203.0.113.9', 4)).toMatchObject({ country: null, asn: 16_509 });
  });

  it('A database of networks or anonymisers disables the built-in table, even for addresses it does not know', () => {
    for (const slot of [{ asn: ready(1, asnDatabase()) }, { anonymiser: ready(1, anonymousDatabase()) }]) {
      const geo = createGeoIp({ ...NONE, city: ready(1, cityDatabase()), ...slot }, () => {}, hosting);
      expect(geo.lookup('203.0.113.9', 4)?.organisation ?? null).not.toBe('Amazon');
      expect(geo.lookup('192.0.2.1', 4)).toMatchObject({ asn: null });
    }
  });

  it('A city database that names the network overrides the built-in table', () => {
    const city = writeMmdb({ type: 'City', ipVersion: 4, networks: { '203.0.113.0/24': { asn: 64_500 } } });
    const facts = createGeoIp({ ...NONE, city: ready(1, city) }, () => {}, hosting).lookup('203.0.113.9', 4);
    expect(facts).toMatchObject({ asn: 64_500, organisation: null });
  });

  it('The built-in table is used again when the database is removed or cannot be opened', () => {
    const geo = createGeoIp({ ...NONE, asn: ready(1, asnDatabase()) }, () => {}, hosting);
    for (let i = 0; i < 3; i++) expect(geo.lookup('203.0.113.9', 4)?.asn).toBe(64_500);
    geo.swap('asn', { kind: 'absent', generation: 2, detail: '' });
    expect(geo.lookup('203.0.113.9', 4)?.asn).toBe(16_509);
    const refused = createGeoIp({ ...NONE, asn: { kind: 'refused', generation: 1, detail: 'bad' } }, () => {}, hosting);
    expect(refused.lookup('203.0.113.9', 4)?.asn).toBe(16_509);
  });

  it('An unreadable built-in table is ignored', () => {
    const geo = createGeoIp(NONE, () => {}, readHostingTable('cut short'));
    expect(geo.lookup('203.0.113.9', 4)).toBeNull();
  });
});

describe('swap', () => {
  it('A swap replaces the content at once, for cached addresses too', () => {
    const geo = createGeoIp(ALL);
    expect(geo.lookup('203.0.113.1', 4)?.country).toBe('DE');
    geo.swap('city', ready(2, cityDatabase('AT')));
    expect(geo.lookup('203.0.113.1', 4)?.country).toBe('AT');
    expect(geo.status('city')).toEqual({ generation: 2, state: 'ok', version: 'v2', detail: '' });
    geo.swap('city', { kind: 'absent', generation: 3, detail: 'gone' });
    expect(geo.lookup('203.0.113.1', 4)?.country).toBe('BE');
    expect(geo.status('city')).toMatchObject({ state: 'absent', version: null });
  });

  it('A swap ignores an older content', () => {
    const geo = createGeoIp({ ...NONE, city: ready(5, cityDatabase('DE')) });
    geo.swap('city', ready(4, cityDatabase('AT')));
    geo.swap('city', ready(5, cityDatabase('AT')));
    expect(geo.lookup('203.0.113.1', 4)?.country).toBe('DE');
  });

  it('A swap keeps the databases in use if the newer content cannot be opened', () => {
    const changed: GeoSlot[] = [];
    const geo = createGeoIp(ALL, (slot) => changed.push(slot));
    geo.swap('city', ready(2, Buffer.from('no database')));
    expect(geo.lookup('203.0.113.1', 4)?.country).toBe('DE');
    expect(geo.status('city')).toMatchObject({ generation: 2, state: 'ok', version: 'v1' });
    expect(geo.status('city').detail).toContain('0.mmdb was refused');
    expect(changed).toEqual(['city']);
  });

  it('A slot is broken if its content cannot be opened and no database is in use', () => {
    const geo = createGeoIp({ ...NONE, city: ready(1, Buffer.from('no database')) });
    expect(geo.status('city').state).toBe('broken');
    const refused = createGeoIp({ ...NONE, asn: { kind: 'refused', generation: 1, detail: 'bad' } });
    expect(refused.status('asn')).toEqual({ generation: 1, state: 'broken', version: null, detail: 'bad' });
  });
});

/** One record's type byte is overwritten with one that does not exist. */
function damaged(): Buffer {
  const bytes = writeMmdb({
    type: 'city',
    ipVersion: 4,
    networks: {
      '203.0.113.0/24': { country_code: 'DE', city: 'BROKEN' },
      '198.51.0.0/16': { country_code: 'JP' },
    },
  });
  const at = bytes.indexOf('BROKEN') - 1;
  bytes.writeUInt8(0, at);
  bytes.writeUInt8(0xff, at + 1);
  return bytes;
}

describe('a database that throws', () => {
  it('A database that throws counts as empty, breaks its slot, and recovers after a while', () => {
    const states: string[] = [];
    const geo = createGeoIp({ ...ALL, city: ready(1, damaged()) }, (slot) =>
      states.push(`${slot} ${geo.status(slot).state}`),
    );
    // The others still respond.
    expect(geo.lookup('203.0.113.7', 4)).toMatchObject({ country: 'BE', tor: true });
    expect(geo.status('city')).toMatchObject({ state: 'broken', generation: 1, version: 'v1' });
    for (let i = 0; i < 1_023; i++) geo.lookup(`198.51.${i >> 8}.${i & 255}`, 4);
    expect(geo.status('city').state).toBe('broken');
    expect(geo.lookup('198.51.200.1', 4)?.country).toBe('JP');
    expect(geo.status('city')).toMatchObject({ state: 'ok', detail: '' });
    expect(states).toEqual(['city broken', 'city ok']);
  });

  it('A look-up of a record with circular pointers terminates', () => {
    const bytes = writeMmdb({
      type: 'city',
      ipVersion: 4,
      networks: { '203.0.113.0/24': { a: 'xx', b: 'yy' } },
    });
    // Both values become pointers to the record itself: every level would double the work.
    for (const text of ['xx', 'yy']) {
      const at = bytes.indexOf(text) - 1;
      bytes.writeUInt8(0x20, at);
      bytes.writeUInt8(0x00, at + 1);
      bytes.writeUInt8(0xa0, at + 2);
    }
    const outcome = openMmdb(shared(bytes));
    if (outcome.kind === 'fault') throw new Error(outcome.detail);
    expect(() => outcome.database.find('203.0.113.1')).toThrow('too many pointers');
  });
});

/** Addresses of a database's own networks, their neighbours, and some spread over all. */
function addressesOf(samples: readonly string[], version: 4 | 6): string[] {
  if (version === 6)
    return [...samples, ...samples.map((ip) => ip.replace(/[^:]+$/, '1')), '::1', '2001:db8::1', 'ffff::', 'fe80::1'];
  const spread = Array.from({ length: 512 }, (_none, n) => `${n >> 1}.${(n * 37) & 255}.${(n * 101) & 255}.7`);
  return [...samples, ...samples.map((ip) => ip.replace(/\d+$/, '255')), ...spread];
}

describe('mail domains', () => {
  const domains = (names: Readonly<Record<string, Readonly<Record<string, boolean>>>>): Buffer =>
    writeMmdb({
      type: 'Gatehouse-Domains',
      ipVersion: 6,
      networks: Object.fromEntries(
        Object.entries(names).map(([name, record]) => [`${mailDomainAddress(name)}/${MAIL_DOMAIN_BITS}`, record]),
      ),
    });

  it('A database of mail domains is read and swapped; without one there are no lists', () => {
    const geo = createGeoIp(NONE);
    expect(geo.mailLists()).toBeNull();
    geo.swap(
      'domains',
      ready(1, domains({ 'burner.example': { disposable: true }, 'free.example': { free_mail: true } })),
    );
    const lists = geo.mailLists();
    expect(lists?.withBuiltIn).toBe(false);
    expect(lists?.find('burner.example')).toEqual({ disposable: true, free: false });
    expect(lists?.find('free.example')).toEqual({ disposable: false, free: true });
    expect(lists?.find('other.example')).toBeNull();
    geo.swap('domains', ready(2, domains({ 'other.example': { disposable: true } })));
    expect(geo.mailLists()?.find('burner.example')).toBeNull();
    expect(geo.mailLists()?.find('other.example')).toEqual({ disposable: true, free: false });
  });

  it('The shipped copy has free providers, and the built-in list of disposable ones counts beside it', async () => {
    const entry = GEO_PACKAGES.find(({ slot }) => slot === 'domains');
    const at = entry && (await findPackage(entry));
    const check = new GeoCheck();
    const loaded = await check.load(at?.folder ?? '', 'gatehouse-domains.mmdb');
    check.close();
    if (loaded.kind !== 'ok') throw new Error(loaded.kind);
    expect(loaded.slot).toBe('domains');
    const content: GeoContent = { kind: 'ready', generation: 1, version: `${SHIPPED} 1`, files: [loaded.file] };
    const lists = createGeoIp({ ...NONE, domains: content }).mailLists();
    expect(lists?.withBuiltIn).toBe(true);
    expect(lists?.find('gmail.com')).toEqual({ disposable: false, free: true });
    expect(lists?.find('mailinator.com')).toBeNull();
  });
});

describe('installed databases', async () => {
  const check = new GeoCheck();
  afterAll(() => check.close());
  const found = await Promise.all(GEO_PACKAGES.map(async (entry) => ({ ...entry, at: await findPackage(entry) })));
  for (const { slot, name, files, at } of found.filter((one) => one.folder === undefined)) {
    it.skipIf(at === null)(`The installed database ${name} knows well-known addresses`, async () => {
      const loaded: SharedFile[] = [];
      for (const name of files) {
        const file = await check.load(at?.folder ?? '', name);
        if (file.kind !== 'ok') throw new Error(file.kind);
        expect(file.slot).toBe(slot);
        loaded.push(file.file);
      }
      const content: GeoContent = { kind: 'ready', generation: 1, version: '1', files: loaded };
      const geo = createGeoIp({ ...NONE, [slot]: content });
      expect(geo.lookup('8.8.8.8', 4)?.country).toBe('US');
      expect(geo.lookup('1.1.1.1', 4)?.country).toBe('AU');
      expect(geo.lookup('85.214.132.117', 4)?.country).toBe('DE');
      expect(geo.lookup('210.171.226.40', 4)?.country).toBe('JP');
      // A network of Deutsche Telekom.
      expect(geo.lookup('2003:c0::1', 6)?.country).toBe('DE');
      expect(geo.lookup('10.0.0.1', 4)).toBeNull();
      // Berlin; a country database has no locations.
      expect(Math.round(geo.lookup('85.214.132.117', 4)?.latitude ?? 0)).toBe(slot === 'city' ? 53 : 0);
      expect(geo.status(slot).state).toBe('ok');
    });
    for (const file of files) {
      it.skipIf(at === null)(
        `In ${file} an address has a position exactly if the library finds a record, and a position has one record`,
        async () => {
          const loaded = await check.load(at?.folder ?? '', file);
          if (loaded.kind !== 'ok') throw new Error(loaded.kind);
          const opened = openMmdb(loaded.file.bytes);
          if (opened.kind !== 'ok') throw new Error(opened.detail);
          const { database } = opened;
          const records = new Map<number, unknown>();
          for (const version of database.ipVersion === 4 ? ([4] as const) : ([4, 6] as const)) {
            const samples = database.sample(512).filter((ip) => ip.includes(':') === (version === 6));
            for (const ip of addressesOf(samples, version)) {
              const position = database.locate(ip, version);
              const record = database.find(ip);
              expect([ip, position === 0]).toEqual([ip, record === null]);
              // Asked again, when the first bits are known.
              expect(database.locate(ip, version)).toBe(position);
              if (records.has(position)) expect(record).toEqual(records.get(position));
              records.set(position, record);
            }
          }
          expect(records.size).toBeGreaterThan(5);
        },
      );
    }
  }
});
