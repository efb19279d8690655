import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import { newestRequests } from '../../../../src/history/request-log/newest-requests.ts';
import { eraseRequests, readRequests, type RequestPiece } from '../../../../src/history/request-log/read-requests.ts';
import { RequestLog, type RequestLogOptions } from '../../../../src/history/request-log/request-log.ts';

const ONE = 1 as CustomerNumber;
const TWO = 2 as CustomerNumber;
const NOW = Date.UTC(2026, 10, 28, 12);
const DAY = 86_400_000;
const idOf = (n: number): string => `req_${String(n).padStart(26, '0')}`;
const keyFor = (purpose: string): Uint8Array => Buffer.alloc(32, purpose);

let dataDir = '';
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-requests-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const warned: string[] = [];
function open(options: Partial<RequestLogOptions> = {}): RequestLog {
  warned.length = 0;
  const log = { warn: (_fields: object, message: string) => void warned.push(message) };
  return new RequestLog({ dataDir, daysOf: (customer) => (customer === ONE ? 14 : 0), keyFor, log, ...options });
}

function add(log: RequestLog, n: number, body: string, atMs = NOW + n): void {
  const entry = {
    atMs,
    requestId: idOf(n),
    publicKey: n % 2 === 1,
    decision: 'REVIEW',
    originHash: 2 ** 40 + n,
  } as const;
  log.request(ONE, { ...entry, body: Buffer.from(body) });
}

function read(customer = ONE, untilMs = Infinity): RequestPiece[] {
  const until = Math.min(untilMs, NOW + 1_000 * DAY);
  return [...readRequests({ dataDir, customer, keyFor }, until)].filter(({ kind }) => kind !== 'progress');
}

function bodies(): string[] {
  return read().map((piece) =>
    piece.kind === 'entry' && piece.entry.kind === 'request' ? String(piece.entry.body) : piece.kind,
  );
}

function files(): string[] {
  return readdirSync(join(dataDir, 'requests', '1')).map((name) => join(dataDir, 'requests', '1', name));
}

describe('the request log', () => {
  test('Progress is known after each segment of a file, and the newest bodies by their ids', async () => {
    const log = open();
    for (const n of [1, 2]) {
      add(log, n, `{"n":${n}}`);
      await log.tend(NOW + n * 10_000, true);
    }
    expect(files()).toHaveLength(1);
    const pieces = [...readRequests({ dataDir, customer: ONE, keyFor }, NOW + DAY)];
    const shares = pieces.flatMap((piece) => (piece.kind === 'progress' ? [piece.share] : []));
    expect(shares).toEqual([expect.closeTo(0.5, 1), 1]);
    const newest = newestRequests({ dataDir, customer: ONE, keyFor });
    expect([...newest].map(([id, body]) => [id, String(body)])).toEqual([
      [idOf(1), '{"n":1}'],
      [idOf(2), '{"n":2}'],
    ]);
  });

  test('Requests and outcomes come back as they were, in their order, over several pieces of memory', async () => {
    const log = open();
    add(log, 1, '{"ip":"81.2.69.160"}');
    log.outcome(ONE, idOf(1), 'declined', NOW + 5);
    add(log, 2, 'x'.repeat(300_000));
    add(log, 3, '{}');
    await log.tend(NOW + 10_000);
    const pieces = read();
    expect(pieces.slice(0, 2)).toEqual([
      {
        kind: 'entry',
        entry: {
          kind: 'request',
          atMs: NOW + 1,
          requestId: idOf(1),
          publicKey: true,
          decision: 'REVIEW',
          originHash: 2 ** 40 + 1,
          body: Buffer.from('{"ip":"81.2.69.160"}'),
        },
      },
      { kind: 'entry', entry: { kind: 'outcome', atMs: NOW + 5, requestId: idOf(1), outcome: 'declined' } },
    ]);
    expect(bodies().map((body) => body.length)).toEqual([20, 5, 300_000, 2]);
    expect(read(ONE, NOW + 3)).toHaveLength(2);
  });

  test('Segments are written when they are five seconds old, and at the end; files are private and unreadable without the key', async () => {
    const log = open();
    add(log, 1, '{"email":"anna@example.com"}');
    await log.tend(NOW + 100);
    expect(read()).toEqual([]);
    await log.tend(NOW + 100, true);
    const [file = ''] = files();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file).includes('anna')).toBe(false);
    const other = [...readRequests({ dataDir, customer: ONE, keyFor: () => Buffer.alloc(32, 1) }, NOW + DAY)];
    expect(other[0]).toMatchObject({ kind: 'damaged' });
  });

  test('A customer whose policy has none logs nothing, and what it had is removed', async () => {
    const log = open();
    expect([log.wants(ONE), log.wants(TWO)]).toEqual([true, false]);
    log.outcome(TWO, idOf(1), 'failed', NOW);
    add(log, 1, '{}');
    await log.tend(NOW + 10_000, true);
    expect(readdirSync(join(dataDir, 'requests'))).toEqual(['1']);
    await open({ daysOf: () => 0 }).tend(NOW + 20_000);
    expect(read()).toEqual([]);
  });

  test('Days that are too old go, and the oldest bytes of a customer beyond the bound', async () => {
    const log = open({ bytesMax: 1_000 });
    for (const [n, days] of [20, 14, 1].entries()) {
      add(log, n, String(days), NOW - days * DAY);
      await log.tend(NOW - days * DAY, true);
    }
    await log.tend(NOW);
    expect(bodies()).toEqual(['14', '1']);
    const small = open({ bytesMax: 150 });
    await small.tend(NOW);
    expect(bodies()).toEqual(['1']);
  });

  test('A damaged segment is named and skipped; the others are read', async () => {
    const log = open();
    for (const n of [1, 2, 3]) {
      add(log, n, `body ${n}`);
      await log.tend(NOW + n, true);
    }
    const [file = ''] = files();
    const bytes = readFileSync(file);
    const second = bytes.indexOf('GHREQLG1', 1);
    bytes.fill(0, second + 20, second + 30);
    writeFileSync(file, Buffer.concat([bytes, Buffer.from('GHREQLG1torn')]));
    expect(bodies()).toEqual(['body 1', 'damaged', 'body 3', 'damaged']);
    expect(read()[1]).toMatchObject({
      file: '20261128-0001.log',
      fromByte: second,
      toByte: bytes.indexOf('GHREQLG1', second + 1),
    });
  });

  test('On a nearly full disk the log goes first, oldest files first, and says so', async () => {
    let free = 1e12;
    const log = open({ freeBytes: () => free });
    add(log, 1, 'old', NOW - DAY);
    await log.tend(NOW - DAY, true);
    free = 1_000;
    add(log, 2, 'new');
    await log.tend(NOW + 10_000, true);
    expect([files(), warned]).toEqual([[], ['the disk is nearly full: logged requests were removed']]);
    free = 1e12;
    add(log, 3, 'later');
    await log.tend(NOW + 20_000, true);
    expect(bodies()).toEqual(['later']);
  });

  test('Requests about a person can be erased with their outcomes; all others stay', async () => {
    const log = open();
    add(log, 1, 'anna');
    add(log, 2, 'ben');
    log.outcome(ONE, idOf(1), 'failed', NOW + 3);
    log.outcome(ONE, idOf(2), 'failed', NOW + 3);
    await log.tend(NOW, true);
    add(log, 3, 'anna', NOW + DAY);
    await log.tend(NOW + DAY, true);
    const erased = await eraseRequests({ dataDir, customer: ONE, keyFor }, (body) => String(body) === 'anna');
    expect(erased).toEqual({ requests: 2, files: 2 });
    expect(bodies()).toEqual(['ben', 'entry']);
    expect(files()).toHaveLength(1);
  });
});
