import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDecisionWriter } from '../../../src/app/decision-writer.ts';
import { openDecisionLog, openDecisionStats } from '../../../src/history/open-decision-log.ts';
import { keptRowOf } from '../../../src/history/kept-row.ts';
import type { CustomerNumber, FingerprintHash } from '../../../src/kernel/brand.ts';
import type { Clock } from '../../../src/kernel/clock.ts';
import { newId } from '../../../src/kernel/ids.ts';
import { decodeRecord, encodeRecord } from '../../../src/risk/decision-record.ts';
import type { Decision } from '../../../src/risk/decision.ts';
import type { LearningRows } from '../../../src/state/tables/learning-row-table.ts';
import { command, type Ran } from '../../support/command-line.ts';
import { facts } from '../../support/facts.ts';
import { featureRow } from '../../support/feature-rows.ts';
import { history } from '../../support/history.ts';
import { writesOf } from '../../support/writes.ts';
import { open } from '../state/support.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.now();
/** Columns of a build before orders and accounts had some. */
const OLDER_SET = 844_402_707;
const HONEST = 15_000;
const FRAUDS = 160;
const DAYS = 80;

let folder = '';
let dataDir = '';

function models(...args: string[]): Promise<Ran> {
  return command(['--data-dir', dataDir, 'models', ...args]);
}

/** Bytes of a decision as a score worker writes them. */
function recordOf(requestId: string, decision: Decision, withFeatures: boolean): Buffer {
  return encodeRecord({
    requestId,
    occurredAtMs: NOW_MS,
    verdict: { decision, score: 1, reasons: [], reviewHint: '' },
    sessionMode: 'full',
    shadow: null,
    publicKey: false,
    eventType: 'login',
    facts: facts({ history: history({ ip: { decisions1m: 2 } }) }),
    contributions: [],
    learning: withFeatures ? { rate: 1, policyVersion: 'v7', model: { version: 'm1', probability: 0.25 } } : null,
  });
}

/** Rows of an older build that outlived their decisions: fraud comes in bursts. */
async function keepRows(rows: LearningRows, customer: CustomerNumber): Promise<readonly string[]> {
  const frauds: string[] = [];
  for (let n = 0; n < HONEST + FRAUDS; n++) {
    const isFraud = n % Math.floor(HONEST / FRAUDS) === 0 && frauds.length < FRAUDS;
    const occurredAtMs = Math.floor(NOW_MS - (20 + DAYS * (1 - n / (HONEST + FRAUDS))) * DAY_MS);
    const requestId = newId('req', occurredAtMs);
    if (isFraud) frauds.push(requestId);
    rows.keep(customer, {
      requestId,
      occurredAtMs,
      kept: isFraud ? 'label' : 'sample',
      eventType: 'login',
      decision: 'ALLOW',
      session: `session ${n}`,
      accounts: [],
      rate: null,
      policyVersion: null,
      features: featureRow(OLDER_SET, {
        'history:ip_decisions_1m': isFraud ? 40 : 1 + (n % 3),
        'history:ip_cold_share_1h': isFraud ? 0.75 : 0.25,
      }),
    });
    // Fewer than may wait.
    if (n % 5_000 === 0) await rows.flush(NOW_MS);
  }
  await rows.flush(NOW_MS);
  return frauds;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-train-'));
  dataDir = join(folder, 'data');
  await command(['--data-dir', dataDir, 'customers', 'create', 'Train']);
  const store = open(dataDir);
  const [made] = store.customers.all();
  const { learningRows } = store;
  if (made === undefined || learningRows === null) throw new Error('the store is not open for writing');
  const customer = made.number;
  for (const requestId of await keepRows(learningRows, customer)) {
    const judged = { requestId, fingerprintHash: 'a'.repeat(64) as FingerprintHash, publicKey: false };
    await writesOf(store).feedback.label(customer, judged, 'fraud', null, 123);
  }
  // A decision that left the log before its label came.
  const late = { requestId: newId('req', NOW_MS - 50 * 3_600_000), fingerprintHash: null, publicKey: false };
  await writesOf(store).feedback.label(customer, late, 'fraud', null, Math.floor(Date.now() / 1000) - 86_400);
  const log = openDecisionLog(store);
  const clock = { nowMs: () => NOW_MS } as Clock;
  const writer = createDecisionWriter(store, log, openDecisionStats(store), clock);
  // The sample of ALLOW, an ALLOW outside of it, and a BLOCK.
  for (const [decision, withFeatures] of [
    ['ALLOW', true],
    ['ALLOW', false],
    ['BLOCK', true],
  ] as const)
    writer.decided(customer, recordOf(newId('req', NOW_MS), decision, withFeatures), 0, 1);
  await writer.flush();
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('models rows and models train', () => {
  test('Rows that outlived their decisions, of an older set of columns, count beside those in the log', async () => {
    const ran = await models('rows', '--json');
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject({
      decisions: HONEST + FRAUDS + 3,
      rows: HONEST + FRAUDS + 2,
      fraud_sessions: FRAUDS,
      missing: [],
      shadow_only: true,
    });
  });

  test('Labels are counted by source and age, and those whose decision has no row', async () => {
    const none = { fraud: 0, legitimate: 0 };
    const ages = { week: none, month: none, older: { fraud: FRAUDS, legitimate: 0 } };
    expect(JSON.parse((await models('rows', '--json')).out)).toMatchObject({
      by_source: [{ source: 'label', ages }],
      labels_without_row: 1,
    });
    const { out } = await models('rows');
    expect(out).toMatch(/source +│ last 7 days +│ 7 to 30 days +│ older/);
    expect(out).toMatch(
      new RegExp(`label +│ 0 fraud, 0 legitimate │ 0 fraud, 0 legitimate │ ${FRAUDS} fraud, 0 legitimate`),
    );
    expect(out).toContain('labels of decisions without a row: 1');
    expect(out).toMatch(/^\d+ rows of \d+ decisions, from \d+ days?$/m);
  });

  test('A model is trained on them, finds what tells fraud apart, and passes its own check', async () => {
    const out = join(folder, 'candidates');
    // Where the server and `models shadow` look for it.
    const env = { GATEHOUSE_MODELS_DIR: folder };
    const ran = await command(['--data-dir', dataDir, 'models', 'train'], { env });
    expect(ran.err).not.toContain('error');
    expect(ran.code).toBe(0);
    const [id = ''] = readdirSync(out);
    expect(ran.out).toContain(`next: gatehouse models check ${join(out, id)}, then gatehouse models shadow ${id}`);
    const report = JSON.parse(readFileSync(join(out, id, 'report.json'), 'utf8')) as { gain: Record<string, number> };
    expect(Object.keys(report.gain)).toContain('history:ip_decisions_1m');
    const checked = await models('check', join(out, id));
    expect(checked.code).toBe(0);
    expect(checked.out).toContain('is valid');
    expect(checked.out).toContain('fails  training: trained on under 500 known fraud sessions');
    expect(checked.out).toContain('warning: it was trained under the policy v7, and this one is default');
  });

  test('Rows of an export train the same model as the store, and carry the rate and source of their label', async () => {
    const exported = await command(['--data-dir', dataDir, 'decisions', 'export', '--kept']);
    expect(exported.code).toBe(0);
    const file = join(folder, 'rows.ndjson');
    writeFileSync(file, exported.out);
    const lines = exported.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toHaveLength(HONEST + FRAUDS + 3);
    expect(lines.filter((line) => line['label_source'] === 'label')).toHaveLength(FRAUDS);
    expect(lines.find((line) => line['decision'] === 'BLOCK')).toMatchObject({
      features_kept: 'decision',
      features_rate: 1,
      policy_version: 'v7',
      model_version: 'm1',
      model_probability: 0.25,
    });
    const [fromStore, fromFile] = [join(folder, 'from-store'), join(folder, 'from-file')];
    await models('train', '--out', fromStore);
    const ran = await models('train', '--rows', file, '--out', fromFile);
    expect(ran.code).toBe(0);
    const forestOf = (out: string): string => readFileSync(join(out, readdirSync(out)[0] ?? '', 'forest.json'), 'utf8');
    expect(forestOf(fromFile) === forestOf(fromStore)).toBe(true);
    writeFileSync(file, `${exported.out.split('\n')[0]}\n{"request_id":1}\n`);
    expect((await models('train', '--rows', file)).err).toContain('line 2 of');
  });

  test('A budget in percent without the sign is refused, since it would be a hundred times as large', async () => {
    const ran = await models('train', '--budget', '0.2');
    expect(ran.code).toBe(2);
    expect(ran.err).toContain('at most 5%: write 0.2% or .002');
  });

  test('A check warns of another policy than the model was trained under, and of a weight that is lowered', async () => {
    const [id = ''] = readdirSync(join(folder, 'candidates'));
    const manifest = join(folder, 'candidates', id, 'model.json');
    const trained = { ...(JSON.parse(readFileSync(manifest, 'utf8')) as object), policy_hash: 'older' };
    writeFileSync(manifest, JSON.stringify(trained));
    const policy = join(folder, 'policy.json');
    writeFileSync(policy, JSON.stringify({ version: 'newer', weights: { model_score: 0.85 } }));
    const { out } = await models('check', join(folder, 'candidates', id), '--policy', policy);
    expect(out).toContain('warning: it was trained under the policy older, and this one is newer');
    expect(out).toContain('warning: /weights/model_score the weight of a model is at most 0.7, so 0.85 counts as that');
  });

  test('The writer keeps the sample of ALLOW longer, and nothing else until it is labelled', async () => {
    const store = open(dataDir);
    const kept: string[] = [];
    const reading = store.learningRows?.read(null, NOW_MS, (_customer, row) => {
      if (row.occurredAtMs === NOW_MS) kept.push(`${row.decision} ${row.kept}`);
    });
    for (const _slice of reading ?? []) continue;
    await store.close();
    expect(kept).toEqual(['ALLOW sample']);
    const block = decodeRecord(recordOf(newId('req', NOW_MS), 'BLOCK', true));
    expect(keptRowOf(block, 'label')).toMatchObject({ decision: 'BLOCK', kept: 'label', rate: 1, policyVersion: 'v7' });
    expect(keptRowOf({ ...block, features: null }, 'label')).toBeNull();
  });
});
