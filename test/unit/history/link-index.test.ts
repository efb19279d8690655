import { describe, expect, onTestFinished, test } from 'vitest';
import { LinkTargets } from '../../../src/api/link-target.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { pack } from '../../../src/kernel/pack.ts';
import { ALLOW_KEPT_MS, FLAGGED_KEPT_MS, LINK_SEGMENT_ROWS } from '../../../src/kernel/history-limits.ts';
import { newId } from '../../../src/kernel/ids.ts';
import { LAYOUT, OLD_LAYOUT } from '../../../src/history/decision-log/link-segment.ts';
import type { DecisionLog } from '../../../src/history/decision-log.ts';
import type { SearchFilter } from '../../../src/history/decision-log/log-query.ts';
import { openDecisionLog } from '../../../src/history/open-decision-log.ts';
import { readIp } from '../../../src/risk/signals/ip.ts';
import { Linker } from '../../../src/score/linker.ts';
import { ensureUsable } from '../../../src/state/repair/ensure-usable.ts';
import { SUM_BYTES, withSum } from '../../../src/state/tables/value.ts';
import { facts } from '../../support/facts.ts';
import { decide, idsOf } from '../state/decision-log-support.ts';
import { customer, open, tempFolder } from '../state/support.ts';

const NOW = 1_790_000_000_000;
const ONE = customer(1);
const TWO = customer(2);
const SECRET = Buffer.alloc(32, 5);
const USERS = 50;
const targets = new LinkTargets(SECRET);
const linker = new Linker(SECRET);

function tempLog(folder = tempFolder()) {
  let store = open(folder);
  onTestFinished(() => store.close());
  const reopen = async (): Promise<DecisionLog> => {
    await store.close();
    store = open(folder);
    return openDecisionLog(store);
  };
  return { log: openDecisionLog(store), reopen, links: () => store.decisionLinks, close: () => store.close() };
}

function linksOf(user: number, of: CustomerNumber) {
  const entities = [{ name: 'email', value: `user${user}@mail.example` }];
  const event = { customer: of, sessionId: `s${user}`, entities };
  return linker.tailOf({ links: null }, facts({ ip: readIp(`198.51.100.${user}`) }), event, 'hashed');
}

/** Logs `rows` decisions of `USERS` users, one per millisecond, and returns their ids by user, newest first. */
async function fill(log: DecisionLog, rows: number, of = ONE): Promise<string[][]> {
  const ids: string[][] = Array.from({ length: USERS }, () => []);
  for (let n = 0; n < rows; n++) {
    // Every user is in some blocks only.
    const user = (n >> 6) % USERS;
    const decision = n % 3 === 0 ? 'BLOCK' : 'ALLOW';
    const id = decide(log, of, { occurredAtMs: NOW + n, decision, ip: `198.51.100.${user}`, links: linksOf(user, of) });
    ids[user]?.unshift(id);
    if (n % 1_024 === 0) await log.flush();
  }
  await log.flush();
  await log.indexed();
  return ids;
}

function foundBy(
  log: DecisionLog,
  kind: string,
  value: string,
  of = ONE,
  more: Partial<SearchFilter> = {},
): Promise<string[]> {
  const target = targets.find(of, kind, value);
  if (target === null) throw new Error(`${value} is no ${kind}`);
  return idsOf(log, of, { nowMs: NOW + 1, limit: 100, filter: { ...more, links: [target] } });
}

interface Row {
  readonly key: Buffer;
  /** Without its check sum. */
  readonly value: Buffer;
}

/** Returns the same segments as an older build wrote them: 16 parts of this build are one of theirs. */
function oldSegments(rows: readonly Row[]): readonly Row[] {
  const merged = new Map<string, { readonly key: Buffer; readonly hashes: Buffer[]; readonly blocks: Buffer[] }>();
  for (const { key: stored, value } of rows) {
    const key = Buffer.from(stored);
    const isHead = key[11] === LAYOUT.head;
    key[11] = isHead ? OLD_LAYOUT.head : ((key[11] ?? 0) - LAYOUT.firstPart) >> 4;
    const row = merged.get(key.toString('hex')) ?? { key, hashes: [], blocks: [] };
    merged.set(key.toString('hex'), row);
    const bytes = value.length - SUM_BYTES;
    const hashBytes = isHead ? bytes : (bytes / 6) * 4;
    row.hashes.push(value.subarray(0, hashBytes));
    row.blocks.push(value.subarray(hashBytes, bytes));
  }
  return [...merged.values()].map(({ key, hashes, blocks }) => ({ key, value: Buffer.concat([...hashes, ...blocks]) }));
}

const ROWS = 3 * LINK_SEGMENT_ROWS + 700;

describe('the index of links', () => {
  test('All decisions of a link are found, newest first, before and after a restart, and none of another customer', async () => {
    const { log, reopen, links } = tempLog();
    const ids = await fill(log, ROWS);
    expect([...(links()?.getKeys() ?? [])].length).toBeGreaterThan(2 * 9);
    const expectAll = async (of: DecisionLog): Promise<void> => {
      for (const user of [0, 7, USERS - 1]) {
        expect(await foundBy(of, 'entity.email', ` User${user}@mail.example`)).toEqual(ids[user]);
        expect(await foundBy(of, 'ip', `198.51.100.${user}`)).toEqual(ids[user]);
      }
      expect(await foundBy(of, 'entity.email', 'nobody@mail.example')).toEqual([]);
      expect(await foundBy(of, 'entity.phone', 'user7@mail.example')).toEqual([]);
      expect(await foundBy(of, 'entity.email', 'user7@mail.example', TWO)).toEqual([]);
      expect(await foundBy(of, 'network', '198.51.100.0/24')).toHaveLength(ROWS);
    };
    await expectAll(log);
    await expectAll(await reopen());
  });

  test('A search by a link reads a small part of the rows, and one by two links what both have', async () => {
    const { log } = tempLog();
    const ids = await fill(log, ROWS);
    const email = targets.find(ONE, 'entity.email', 'user3@mail.example');
    const other = targets.find(ONE, 'entity.email', 'user4@mail.example');
    const address = targets.find(ONE, 'ip', '198.51.100.3');
    if (email === null || other === null || address === null) throw new Error('these are links');
    const asked = { nowMs: NOW, limit: 1_000 };
    expect(await idsOf(log, ONE, { ...asked, filter: { links: [email, address] } })).toEqual(ids[3]);
    expect(await idsOf(log, ONE, { ...asked, filter: { links: [email, other] } })).toEqual([]);
  });

  test('A search by a link is restricted by time, event type, reason and score too', async () => {
    const { log } = tempLog();
    const links = linksOf(1, ONE);
    const rows = [
      { occurredAtMs: NOW - 4_000, eventType: 'login', score: 10, reasons: ['ip_vpn'] },
      { occurredAtMs: NOW - 3_000, eventType: 'payment', score: 60, reasons: ['ip_vpn', 'device_headless'] },
      { occurredAtMs: NOW - 2_000, eventType: 'login', score: 90, reasons: ['device_headless_too'] },
    ];
    const ids = rows.map((row) => decide(log, ONE, { ...row, links }));
    const found = (filter: Partial<SearchFilter>): Promise<string[]> =>
      foundBy(log, 'entity.email', 'user1@mail.example', ONE, filter);
    const [first, second, third] = ids;
    expect(await found({ sinceMs: NOW - 3_000 })).toEqual([third, second]);
    expect(await found({ untilMs: NOW - 3_000 })).toEqual([first]);
    expect(await found({ sinceMs: NOW - 3_500, untilMs: NOW - 2_500 })).toEqual([second]);
    expect(await found({ eventType: 'login' })).toEqual([third, first]);
    expect(await found({ reason: 'ip_vpn' })).toEqual([second, first]);
    expect(await found({ reason: 'device_headless' })).toEqual([second]);
    expect(await found({ scoreMin: 60 })).toEqual([third, second]);
    expect(await found({ scoreMax: 60, scoreMin: 11 })).toEqual([second]);
    expect(await found({ eventType: 'login', reason: 'ip_vpn' })).toEqual([first]);
  });

  test('Decisions are found by their network number, the beginning of their path, and a domain that is kept', async () => {
    const { log } = tempLog();
    const kept = { bytes: null, identities: ['7', 'a***@Mail.Example'] };
    const rows = [
      { occurredAtMs: NOW - 3_000, url: 'https://shop.example/login?x=1', links: kept },
      { occurredAtMs: NOW - 2_000, url: 'https://shop.example/log', country: null },
      { occurredAtMs: NOW - 1_000, links: { bytes: null, identities: ['a@other-mail.example'] } },
    ];
    const [first, second, third] = rows.map((row) => decide(log, ONE, row));
    const found = (filter: Partial<SearchFilter>): Promise<string[]> => idsOf(log, ONE, { nowMs: NOW, filter });
    expect(await found({ asn: 64_500 })).toEqual([third, first]);
    expect(await found({ asn: 64_501 })).toEqual([]);
    expect(await found({ path: '/log' })).toEqual([second, first]);
    expect(await found({ path: '/login' })).toEqual([first]);
    expect(await found({ emailDomain: 'mail.example' })).toEqual([first]);
    expect(await found({ emailDomain: 'other-mail.example', asn: 64_500 })).toEqual([third]);
  });

  test('A damaged or missing segment hides no decision', async () => {
    const { log, links } = tempLog();
    const ids = await fill(log, ROWS);
    const table = links();
    const keys = [...(table?.getKeys() ?? [])].map((key) => Buffer.from(key));
    for (const [n, key] of keys.entries()) {
      if (n % 2 === 0) await table?.put(key, Buffer.from('damaged'));
      else await table?.remove(key);
    }
    expect(await foundBy(log, 'entity.email', 'user7@mail.example')).toEqual(ids[7]);
  });

  test('Segments of an older build are searched, and removed where this build has others of the same blocks', async () => {
    const { log, reopen, links } = tempLog();
    const ids = await fill(log, ROWS);
    const stored = [...(links()?.getRange({}) ?? [])].map(({ key, value }) => ({
      key: Buffer.from(key),
      value: Buffer.from(value),
    }));
    const old = oldSegments(stored);
    for (const { key, value } of old) await links()?.put(key, withSum(key, value));
    expect(await foundBy(await reopen(), 'entity.email', 'user7@mail.example')).toEqual(ids[7]);
    const count = (): number => [...(links()?.getKeys() ?? [])].length;
    await expect.poll(count).toBe(stored.length);

    const replace = async (segments: readonly Row[]): Promise<DecisionLog> => {
      for (const key of links()?.getKeys() ?? []) await links()?.remove(Buffer.from(key));
      for (const { key, value } of segments) await links()?.put(key, withSum(key, value));
      return reopen();
    };
    expect(await foundBy(await replace(old), 'entity.email', 'user7@mail.example')).toEqual(ids[7]);
    const empty = old.map(({ key, value }) => ({ key, value: key[11] === OLD_LAYOUT.head ? value : Buffer.alloc(0) }));
    const found = await foundBy(await replace(empty), 'entity.email', 'user7@mail.example');
    expect(found.length).toBeLessThan(ids[7]?.length ?? 0);
  });

  test('Decisions of an older build are found by address, network and fingerprint', async () => {
    const { log } = tempLog();
    const id = newId('req', NOW);
    const fields = [id, NOW, 4, 90, 0, -1, 'c'.repeat(64), 1, 'login', '198.51.100.7', 'DE', 64_500, [], -1, null];
    log.append(ONE, pack(fields), 1);
    await fill(log, ROWS);
    expect(await foundBy(log, 'fingerprint', 'C'.repeat(64))).toEqual([id]);
    expect(await foundBy(log, 'ip', '198.51.100.7')).toContain(id);
    expect(await foundBy(log, 'network', '198.51.100.200')).toContain(id);
    expect(await foundBy(log, 'entity.email', 'user7@mail.example')).not.toContain(id);
  });

  test('Segments leave the disk with their decisions, and the check of a start accepts those that are there', async () => {
    const folder = tempFolder();
    const usable = { dataDir: folder, simulated: false, repair: true, nowMs: NOW };
    await ensureUsable(usable);
    const { log, links, close } = tempLog(folder);
    await fill(log, ROWS);
    const count = (): number => [...(links()?.getKeys() ?? [])].length;
    const before = count();
    for (let round = 0; round < 50; round++) log.prune(NOW + ROWS + ALLOW_KEPT_MS);
    await log.flush();
    await links()?.committed;
    expect(count()).toBeLessThan(before);
    expect(count()).toBeGreaterThan(0);
    for (let round = 0; round < 50; round++) log.prune(NOW + ROWS + FLAGGED_KEPT_MS);
    await log.flush();
    await links()?.committed;
    expect(count()).toBe(0);
    await fill(log, ROWS, TWO);
    await close();
    expect(await ensureUsable({ ...usable, repair: false })).toMatchObject({ kind: 'ok', notices: [] });
  });
});
