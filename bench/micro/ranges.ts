import { join } from 'node:path';
import { randomOf } from '../../scripts/traffic/random.ts';
import { findPackage, GEO_PACKAGES } from '../../src/assets/asset-files.ts';
import { GeoCheck } from '../../src/assets/geo-check.ts';
import { openMmdb } from '../../src/assets/mmdb.ts';
import { SEED } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

const ADDRESSES = 32_768;

/** Look-ups in the shipped database of feeds alone, without any cache of addresses or records. */
export const ranges: Stage = {
  name: 'ranges',
  async add(tasks) {
    const shipped = GEO_PACKAGES.find(({ slot }) => slot === 'networks');
    const found = shipped === undefined ? null : await findPackage(shipped);
    if (shipped === undefined || found === null) throw new Error('there is no shipped database of networks');
    const check = new GeoCheck();
    const [file = ''] = shipped.files;
    const loaded = await check.load(found.folder, file);
    check.close();
    if (loaded.kind !== 'ok') throw new Error(`${join(found.folder, file)} does not load`);
    const opened = openMmdb(loaded.file.bytes);
    if (opened.kind !== 'ok') throw new Error(opened.detail);
    const { database } = opened;
    const listed = database.sample(ADDRESSES).filter((ip) => ip.startsWith('0:0:0:0:0:0:'));
    const random = randomOf(SEED);
    const octet = (): number => Math.floor(random() * 256);
    const inFeeds = Ring.of(ADDRESSES, (n) => v4Text(listed[n % listed.length] ?? ''));
    const any = Ring.of(ADDRESSES, () => `${1 + Math.floor(random() * 222)}.${octet()}.${octet()}.${octet()}`);
    tasks.add('address in a feed', {
      perSample: 256,
      run: (n) => database.locate(inFeeds.at(n), 4),
      isSane: (at) => at > 0,
    });
    tasks.add('any address', { perSample: 256, run: (n) => database.locate(any.at(n), 4), isSane: (at) => at >= 0 });
    return {};
  },
};

/** Returns the IPv4 address in the last two groups of an IPv6 address. */
function v4Text(ip: string): string {
  return ip
    .split(':')
    .slice(6)
    .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
    .join('.');
}
