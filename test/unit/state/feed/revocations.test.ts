import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { REVOCATIONS_KEPT_MAX } from '../../../../src/kernel/limits.ts';
import { backup, rotateBackups } from '../../../../src/state/repair/backup.ts';
import { ensureUsable } from '../../../../src/state/repair/ensure-usable.ts';
import { RevocationFile } from '../../../../src/state/feed/revocations.ts';
import { customer, hashOf, open, tempFolder, value } from '../support.ts';
import { writesOf } from '../../../support/writes.ts';

const NOW_MS = 1_700_000_000_000;

async function ensure(dataDir: string): Promise<string[]> {
  const usable = await ensureUsable({ dataDir, simulated: false, repair: true, nowMs: NOW_MS });
  if (usable.kind === 'fault') throw new Error(usable.detail);
  return usable.notices.map(({ code }) => code);
}

/** Returns a data directory with a backup of two live key pairs, after which one secret key was revoked. */
async function revokedAfterBackup(): Promise<{ dataDir: string; copy: string; revoked: string; live: string }> {
  const dataDir = tempFolder();
  await ensure(dataDir);
  const store = open(dataDir);
  const first = await value(writesOf(store).apiKeys.createPair(customer(1), null, 1));
  const second = await value(writesOf(store).apiKeys.createPair(customer(1), null, 1));
  expect((await rotateBackups(store, dataDir, 3, NOW_MS)).kind).toBe('ok');
  const copy = join(tempFolder(), 'backup');
  expect((await backup(store, dataDir, copy)).kind).toBe('ok');
  expect(await value(writesOf(store).apiKeys.revoke(first.secret.key.hash, 77))).toBe('revoked');
  await store.close();
  return { dataDir, copy, revoked: first.secret.key.hash, live: second.secret.key.hash };
}

async function revokedAt(dataDir: string, ...hashes: string[]): Promise<(number | null | undefined)[]> {
  const store = open(dataDir);
  const keys = store.apiKeys.loadAll();
  await store.close();
  return hashes.map((hash) => keys.find((key) => key.hash === hash)?.revokedAtSeconds);
}

describe('a key revoked after the backup', () => {
  test('A revoked key stays revoked when state is repaired from an older backup', async () => {
    const { dataDir, revoked, live } = await revokedAfterBackup();
    truncateSync(join(dataDir, 'state', 'data.mdb'), 100);
    expect(await ensure(dataDir)).toEqual(['state_restored']);
    expect(await revokedAt(dataDir, revoked, live)).toEqual([77, null]);
  });

  test('A revoked key stays revoked when an older backup is copied over the data directory', async () => {
    const { dataDir, copy, revoked, live } = await revokedAfterBackup();
    rmSync(join(dataDir, 'state'), { recursive: true });
    cpSync(copy, dataDir, { recursive: true });
    expect(await ensure(dataDir)).toEqual(['backup_restored']);
    expect(await revokedAt(dataDir, revoked, live)).toEqual([77, null]);
  });

  test('A revoked key stays revoked in a new directory with the revocations of a later backup', async () => {
    const { dataDir, copy, revoked, live } = await revokedAfterBackup();
    const store = open(dataDir);
    const later = join(tempFolder(), 'later');
    expect((await backup(store, dataDir, later)).kind).toBe('ok');
    await store.close();
    cpSync(join(later, 'revoked-keys.backup.log'), join(copy, 'revoked-keys.backup.log'));
    expect(await ensure(copy)).toEqual(['backup_restored']);
    expect(await revokedAt(copy, revoked, live)).toEqual([77, null]);
    const again = open(copy);
    expect(await value(writesOf(again).apiKeys.reconcileRevocations())).toBe(0);
    await again.close();
    expect(existsSync(join(copy, 'revoked-keys.backup.log'))).toBe(false);
    expect([...new RevocationFile(copy).read()]).toEqual([[revoked, 77]]);
  });
});

describe('revocations at each start', () => {
  test('At each start the revocation file and the store are synchronised', async () => {
    const dataDir = tempFolder();
    const store = open(dataDir);
    const first = await value(writesOf(store).apiKeys.createPair(customer(1), null, 1));
    const second = await value(writesOf(store).apiKeys.createPair(customer(1), null, 1));
    await value(writesOf(store).apiKeys.revoke(first.secret.key.hash, 5));
    rmSync(join(dataDir, 'revoked-keys.log'));
    new RevocationFile(dataDir).append([[second.public.key.hash, 6]]);
    const version = store.apiKeys.version();
    expect(await value(writesOf(store).apiKeys.reconcileRevocations())).toBe(1);
    // A server that polls the version detects it.
    expect(store.apiKeys.version()).toBe(version + 1);
    expect(new RevocationFile(dataDir).read()).toEqual(
      new Map([
        [first.secret.key.hash, 5],
        [second.public.key.hash, 6],
      ]),
    );
    expect(await value(writesOf(store).apiKeys.reconcileRevocations())).toBe(0);
    await store.close();
    expect(await revokedAt(dataDir, first.secret.key.hash, second.public.key.hash)).toEqual([5, 6]);
  });
});

describe('the file of revoked keys', () => {
  test('The file contains a revocation before the store does, and no key is revoked if it cannot be written', async () => {
    const dataDir = tempFolder();
    const store = open(dataDir);
    const { secret } = await value(writesOf(store).apiKeys.createPair(customer(1), null, 1));
    const revoking = writesOf(store).apiKeys.revoke(secret.key.hash, 9);
    expect([...new RevocationFile(dataDir).read()]).toEqual([[secret.key.hash, 9]]);
    expect(await value(revoking)).toBe('revoked');
    rmSync(join(dataDir, 'revoked-keys.log'));
    cpSync(join(dataDir, 'state'), join(dataDir, 'revoked-keys.log'), { recursive: true });
    const other = await value(writesOf(store).apiKeys.createPair(customer(1), null, 1));
    expect(await writesOf(store).apiKeys.revoke(other.secret.key.hash, 9)).toMatchObject({
      kind: 'fault',
      code: 'store_write_failed',
    });
    await store.close();
    expect(await revokedAt(dataDir, other.secret.key.hash)).toEqual([null]);
  });

  test('Only damaged lines of the revocation file are lost, and lines are appended after a truncated one', () => {
    const dataDir = tempFolder();
    const file = new RevocationFile(dataDir);
    file.append([
      [hashOf(1), 1],
      [hashOf(2), 2],
    ]);
    const path = join(dataDir, 'revoked-keys.log');
    writeFileSync(path, readFileSync(path, 'latin1').replace(hashOf(1), hashOf(3)));
    appendFileSync(path, `${hashOf(4)} 4`);
    file.append([[hashOf(5), 5]]);
    expect([...file.read()]).toEqual([
      [hashOf(2), 2],
      [hashOf(5), 5],
    ]);
  });

  test('The revocation file is bounded: beyond its limit the older half is removed', () => {
    const dataDir = tempFolder();
    const file = new RevocationFile(dataDir);
    file.append(Array.from({ length: REVOCATIONS_KEPT_MAX }, (_, i) => [hashOf(i), i] as const));
    file.settle(new Map());
    expect(file.read().size).toBe(REVOCATIONS_KEPT_MAX);
    file.settle(new Map([[hashOf(REVOCATIONS_KEPT_MAX), REVOCATIONS_KEPT_MAX]]));
    const left = file.read();
    expect(left.size).toBe(REVOCATIONS_KEPT_MAX / 2);
    expect(Math.min(...left.values())).toBe(REVOCATIONS_KEPT_MAX / 2 + 1);
  });
});
