import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PolicyArchive } from '../../../src/assets/policy-archive.ts';
import { POLICIES_KEPT_BYTES_MAX, POLICIES_KEPT_MAX } from '../../../src/kernel/limits.ts';
import { parsePolicy } from '../../../src/risk/policy/policy-check.ts';

const NOW = 1_790_000_000_000;

let folder = '';
let warnings: string[] = [];
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'gatehouse-policies-')), 'policies');
  warnings = [];
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true }));

async function open(at = folder): Promise<PolicyArchive> {
  const archive = new PolicyArchive(at, { info: () => {}, warn: (_fields, message) => void warnings.push(message) });
  await archive.read();
  return archive;
}

function loaded(block: number, padding = 0) {
  const text = JSON.stringify({ version: `v${block}`, bands: { block } }) + ' '.repeat(padding);
  const parsed = parsePolicy(text);
  if (parsed.kind === 'faults') throw new Error('the policy is faulty');
  return { text, document: parsed.document };
}

describe('kept policies', () => {
  test('The policy of a time is the last one loaded before it', async () => {
    const archive = await open();
    archive.add(loaded(85), NOW);
    archive.add(loaded(90), NOW + 1_000);
    await archive.close();
    expect([-1, 0, 999, 1_000, 9_999].map((ms) => archive.at(NOW + ms)?.version)).toEqual([
      undefined,
      'v85',
      'v85',
      'v90',
      'v90',
    ]);
    expect(archive.all.map(({ atMs }) => atMs)).toEqual([NOW + 1_000, NOW]);
  });

  test('Policies survive a restart, and a start with the same one adds none', async () => {
    const archive = await open();
    archive.add(null, NOW);
    archive.add(loaded(90), NOW + 1_000);
    await archive.close();
    const next = await open();
    next.add(loaded(90), NOW + 5_000);
    expect(next.all).toEqual(archive.all);
    expect(next.all.map(({ isFile, document }) => [isFile, document?.version])).toEqual([
      [true, 'v90'],
      [false, 'default'],
    ]);
  });

  test('A policy that returns is kept again, with its own time', async () => {
    const archive = await open();
    for (const [at, block] of [85, 90, 85].entries()) archive.add(loaded(block), NOW + at);
    await archive.close();
    expect(archive.all.map(({ document }) => document?.version)).toEqual(['v85', 'v90', 'v85']);
  });

  test('Only the newest policies are kept, in memory and on the disk', async () => {
    const archive = await open();
    for (let n = 0; n < POLICIES_KEPT_MAX + 5; n++) archive.add(loaded(61 + n), NOW + n);
    await archive.close();
    expect(archive.all).toHaveLength(POLICIES_KEPT_MAX);
    expect(readdirSync(folder)).toHaveLength(POLICIES_KEPT_MAX);
    expect(archive.at(NOW)).toBeNull();
  });

  test('Large policies are kept up to a number of bytes, and the present one always', async () => {
    const archive = await open();
    archive.add(loaded(85, POLICIES_KEPT_BYTES_MAX), NOW);
    expect(archive.all).toHaveLength(1);
    archive.add(loaded(90), NOW + 1);
    await archive.close();
    expect(archive.all.map(({ document }) => document?.version)).toEqual(['v90']);
    expect(readdirSync(folder)).toHaveLength(1);
  });

  test('A file that this build cannot read is a policy that is not known', async () => {
    const archive = await open();
    archive.add(loaded(85), NOW);
    await archive.close();
    const [name = ''] = readdirSync(folder);
    writeFileSync(join(folder, name), '{"weights":{"a_rule_of_another_build":1}}');
    writeFileSync(join(folder, 'notes.txt'), 'not a policy');
    const next = await open();
    expect([next.all.length, next.at(NOW)]).toEqual([1, null]);
    next.add(loaded(85), NOW + 5);
    await next.close();
    expect(next.at(NOW + 5)?.version).toBe('v85');
  });

  test('A folder that cannot be written is reported, and the policies are known until the restart', async () => {
    writeFileSync(join(folder, '..', 'file'), '');
    const archive = await open(join(folder, '..', 'file', 'policies'));
    archive.add(loaded(85), NOW);
    await archive.close();
    expect(archive.at(NOW)?.version).toBe('v85');
    expect(warnings).toHaveLength(1);
  });
});
