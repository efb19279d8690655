import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { GeoCheck } from '../../../src/assets/geo-check.ts';
import { asnDatabase, cityDatabase, endlessDatabase, swellingDatabase } from '../../support/geo-databases.ts';

let folder: string;
let check: GeoCheck;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'geo-check-'));
  check = new GeoCheck();
});
afterEach(() => {
  check.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('GeoIP files in a child process', () => {
  test('Valid files are loaded with their bytes, one after the other', async () => {
    writeFileSync(join(folder, 'a.mmdb'), cityDatabase());
    writeFileSync(join(folder, 'b.mmdb'), asnDatabase());
    expect(await check.load(folder, 'a.mmdb')).toMatchObject({ kind: 'ok', slot: 'city', ipVersion: 6 });
    const loaded = await check.load(folder, 'b.mmdb');
    expect(loaded).toMatchObject({ kind: 'ok', slot: 'asn', version: 'GeoLite2-ASN 2026-05-28' });
    expect(loaded.kind === 'ok' && Buffer.from(loaded.file.bytes).equals(asnDatabase())).toBe(true);
  });

  test('A file whose metadata doubles at each pointer is refused at its deadline, while the event loop turns', async () => {
    const bytes = endlessDatabase();
    expect(bytes.length).toBeLessThan(300);
    writeFileSync(join(folder, 'city.mmdb'), bytes);
    writeFileSync(join(folder, 'b.mmdb'), asnDatabase());
    check = new GeoCheck(1_000);
    let turns = 0;
    const timer = setInterval(() => turns++, 50);
    expect(await check.load(folder, 'city.mmdb')).toEqual({
      kind: 'fault',
      slot: 'city',
      detail: 'reading it took longer than 1000 ms',
    });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(5);
    // The next file gets another child.
    check = new GeoCheck();
    expect(await check.load(folder, 'b.mmdb')).toMatchObject({ kind: 'ok', slot: 'asn' });
  });

  test('A file that swells to 700 MB when it is decoded ends its child only', async () => {
    writeFileSync(join(folder, 'city.mmdb'), swellingDatabase());
    const loaded = await check.load(folder, 'city.mmdb');
    expect(loaded).toMatchObject({ kind: 'fault', slot: 'city' });
    expect(loaded.kind === 'fault' && loaded.detail).toMatch(/^reading it ended the process \(SIG[A-Z]+\)$/);
  });
});
