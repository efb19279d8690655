import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Settings } from '../../app/settings.ts';
import { COMPILED_FILES } from '../../data/compile-feeds.ts';
import { findPackage, GEO_PACKAGES, listFiles } from '../../assets/asset-files.ts';
import { policyStartFaults } from '../../assets/policy-read.ts';
import { STORE_DISK_FREE_BYTES_MIN } from '../../kernel/limits.ts';
import type { Store } from '../../state/feed/open-store.ts';
import { dataDirFault } from '../../state/repair/data-dir.ts';
import { MASTER_KEY_NAME } from '../../state/repair/master-key.ts';
import { freeBytes } from '../../state/tables/disk-room.ts';
import { isKeyOver } from '../../state/tables/key-table.ts';
import { ok } from '../command-outcome.ts';
import type { Health } from '../health-request.ts';
import { withStore } from '../with-store.ts';
import { failed, fine, type DoctorFinding, warned } from './finding.ts';
import { counted } from '../counted.ts';

/** What lies on the disk: data directory, keys, policy, location databases. */

const MIB = 1_048_576;
/** Choice: a day of decisions of a busy service; docs/operating.md has the sizes. */
const DISK_COMFORT_BYTES = 2_048 * MIB;
/** Choice: location data ages by some per cent a month. */
const GEOIP_DAYS_MAX = 180;
const DAY_MS = 86_400_000;

/** Magic numbers of statfs. Source: linux/magic.h, and the file systems that are not in it. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff53_4d42, 'CIFS'],
  [0xfe53_4d42, 'SMB'],
  [0x517b, 'SMB'],
  [0x0102_1997, '9P'],
  [0x00c3_6400, 'Ceph'],
  [0x5346_414f, 'AFS'],
  [0x6573_5546, 'FUSE'],
]);
const PASSING_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x0102_1994, 'tmpfs, which is memory'],
  [0x8584_58f6, 'ramfs, which is memory'],
  [0x794c_7630, 'the layer of a container'],
]);

export function diskFindings({ dataDir }: Settings): readonly DoctorFinding[] {
  const fault = dataDirFault(dataDir);
  if (fault !== null) {
    return [
      failed(
        'data directory',
        fault,
        'create it for the user of the server, with mode 0700, or set GATEHOUSE_DATA_DIR',
      ),
    ];
  }
  const folder = nearestFolder(dataDir);
  return [kindFinding(dataDir, statfsSync(folder).type), roomFinding(freeBytes(folder))];
}

/** A folder that does not exist yet will be on the file system of the nearest one above it. */
function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}

/** LMDB locks by shared memory, which network file systems do not share. */
export function kindFinding(dataDir: string, type: number): DoctorFinding {
  const network = NETWORK_FILE_SYSTEMS.get(type);
  if (network !== undefined) {
    return failed('data directory', `${dataDir} is on ${network}`, 'move it to a local disk: LMDB needs one');
  }
  const passing = PASSING_FILE_SYSTEMS.get(type);
  if (passing === undefined) return fine('data directory', `${dataDir}, on a local disk`);
  return warned(
    'data directory',
    `${dataDir} is on ${passing}`,
    'mount a disk or a volume there: it is lost otherwise',
  );
}

function roomFinding(free: number | null): DoctorFinding {
  if (free === null) return fine('disk', 'the system does not tell how much is free');
  const detail = `${Math.floor(free / MIB)} MiB are free`;
  if (free < STORE_DISK_FREE_BYTES_MIN) return failed('disk', detail, 'free some: the store refuses writes');
  if (free < DISK_COMFORT_BYTES) return warned('disk', detail, 'give it at least 2 GiB, and an alert on the rest');
  return fine('disk', detail);
}

export async function policyFinding({ policyFile }: Settings): Promise<DoctorFinding> {
  if (policyFile === null) return fine('policy', 'the default policy');
  const [fault] = await policyStartFaults(policyFile);
  if (fault === undefined) return fine('policy', `${policyFile} is valid`);
  return failed('policy', fault, `repair it: gatehouse policy check ${policyFile}`);
}

/** Ages of the location databases: a running server says which it uses. */
export async function geoipFinding({ geoipDir, geoipPackages }: Settings, health: Health): Promise<DoctorFinding> {
  const todo = 'put newer *.mmdb files into GATEHOUSE_GEOIP_DIR; they are read without a restart';
  const versions =
    health.kind === 'report'
      ? Object.entries(health.report.layers).flatMap(([name, { version }]) =>
          name.startsWith('geoip') && typeof version === 'string' ? [version] : [],
        )
      : await versionsOnDisk(geoipDir, geoipPackages);
  if (versions.length === 0) {
    return warned('GeoIP', 'no location database: rules about location and travel do not run', todo);
  }
  const days = Math.max(...versions.map(ageDays));
  const detail = `${versions.join(', ')}${days > 0 ? `, up to ${days} days old` : ''}`;
  return days > GEOIP_DAYS_MAX ? warned('GeoIP', detail, todo) : fine('GeoIP', detail);
}

async function versionsOnDisk(folder: string, usesPackages: boolean): Promise<readonly string[]> {
  const files = await listFiles(folder, (name) => name.endsWith('.mmdb'));
  // Data feeds have their own ages.
  for (const name of Object.values(COMPILED_FILES)) files.delete(name);
  if (files.size > 0 || !usesPackages) {
    return [...files.keys()].map((name) => `${name} ${statSync(join(folder, name)).mtime.toISOString().slice(0, 10)}`);
  }
  const packages = GEO_PACKAGES.filter(({ folder }) => folder === undefined);
  const found = await Promise.all(packages.map(findPackage));
  return found.flatMap((one, at) => (one === null ? [] : [`${packages[at]?.slot ?? ''} ${one.version}`]));
}

/** Days since the date in a version, such as `DBIP-City 2026-06-05` or `2.3.2026060513`; 0 without a date. */
function ageDays(version: string): number {
  const [, year = '', month = '', day = ''] = /(20\d\d)-?([01]\d)-?([0-3]\d)/.exec(version) ?? [];
  const builtAtMs = Date.parse(`${year}-${month}-${day}`);
  return Number.isNaN(builtAtMs) ? 0 : Math.max(0, Math.floor((Date.now() - builtAtMs) / DAY_MS));
}

/** Keys of the data directory. Works beside a running server. */
export async function keyFindings({ dataDir, masterKey }: Settings): Promise<readonly DoctorFinding[]> {
  if (!existsSync(join(dataDir, 'gatehouse.json'))) {
    return [
      fine('keys', 'no server has used this data directory yet: the first start creates a customer and its keys'),
    ];
  }
  const findings: DoctorFinding[] = [masterKeyFinding(dataDir, masterKey)];
  const outcome = await withStore(dataDir, (store) => {
    findings.push(...apiKeyFindings(store));
    return ok({}, '');
  });
  if (outcome.kind === 'error') findings.push(failed('keys', outcome.message, 'see docs/operating.md, incidents'));
  return findings;
}

function masterKeyFinding(dataDir: string, masterKey: string | null): DoctorFinding {
  if (masterKey !== null) return fine('master key', 'from GATEHOUSE_MASTER_KEY');
  const file = join(dataDir, MASTER_KEY_NAME);
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) {
    return failed('master key', `${file} is missing`, 'put the copy of it back: secrets cannot be read without it');
  }
  if ((stats.mode & 0o077) !== 0) return warned('master key', `others may read ${file}`, `chmod 600 ${file}`);
  return fine('master key', `${file}; keep a copy of it elsewhere`);
}

function apiKeyFindings({ customers, apiKeys }: Store): readonly DoctorFinding[] {
  const all = customers.all();
  const suspended = customers.suspended();
  const nowSeconds = Date.now() / 1_000;
  const valid = apiKeys.loadAll().filter((key) => !isKeyOver(key, nowSeconds) && !suspended.has(key.customer));
  if (valid.length === 0) return [warned('keys', 'no key is valid', 'gatehouse keys create --customer <id>')];
  const demo = all.find(({ name }) => name === 'demo');
  const ofDemo = valid.filter(({ customer }) => customer === demo?.number).length;
  const detail = `${counted(valid.length, 'valid key')} of ${counted(all.length, 'customer')}`;
  if (ofDemo > 0 && ofDemo < valid.length) {
    return [
      warned('keys', `${detail}; those of the first start are still valid`, 'revoke them: gatehouse keys revoke'),
    ];
  }
  return [fine('keys', detail)];
}
