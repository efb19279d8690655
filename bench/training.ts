import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { helpIfAsked } from '../scripts/usage.ts';
import type { CustomerNumber, FingerprintHash } from '../src/kernel/brand.ts';
import { LEARNING_ROWS_PER_CUSTOMER_MAX } from '../src/kernel/history-limits.ts';
import { newId } from '../src/kernel/ids.ts';
import { openStore, type Store } from '../src/state/feed/open-store.ts';
import { makeDataDirectory } from './data-directory.ts';
import { type GeneratedRow, generatedRows, SESSION_ROWS, toFeatureRow } from './learning/generated-rows.ts';

/** Measures `gatehouse models train` in its own process, as an operator runs it, on a data directory with generated rows. */
helpIfAsked(`
bench:training [--rows <rows>] [--seed <seed>]

  --rows <rows>  feature rows to learn from, 15,000 to 400,000; default 300,000
  --seed <seed>  of the rows; default 1`);

const DAY_MS = 86_400_000;
const ROWS_MIN = 15_000;
const ROWS_MAX = 400_000;
/** Rows that may wait for a flush. */
const FLUSH_ROWS = 5_000;

/** Makes the process write its processor time, s, and its largest memory, MiB, when it exits. */
const SAYS_USAGE =
  "data:text/javascript,process.on('exit',()=>{const{userCPUTime:u,systemCPUTime:s,maxRSS:m}=process.resourceUsage();" +
  "process._rawDebug('usage '+JSON.stringify([(u+s)/1e6,m/1024]))})";

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '300000' }, seed: { type: 'string', default: '1' } },
});
const rows = Number(values.rows);
if (!Number.isInteger(rows) || rows < ROWS_MIN || rows > ROWS_MAX) {
  process.stderr.write(`bench:training: --rows must be from ${ROWS_MIN} to ${ROWS_MAX}\n`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-training-'));
try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir, { recursive: true });
  process.stderr.write(`writes ${rows} rows\n`);
  await fill(dataDir);
  const train = await measured(['--data-dir', dataDir, 'models', 'train', '--out', folder, '--budget', '0.2%']);
  const id = readdirSync(folder).find((name) => name !== 'data') ?? '';
  const report = JSON.parse(readFileSync(join(folder, id, 'report.json'), 'utf8')) as {
    readonly rows: unknown;
    readonly roc: { readonly area: number };
  };
  const forest = JSON.parse(readFileSync(join(folder, id, 'forest.json'), 'utf8')) as { readonly starts: unknown[] };
  console.log(
    JSON.stringify({ rows, ...train, trees: forest.starts.length, parts: report.rows, area: report.roc.area }),
  );
}

/** Writes the rows over 80 days that ended 20 days ago, since a row without a label counts only then. */
async function fill(dataDir: string): Promise<void> {
  await makeDataDirectory(dataDir);
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') throw new Error(opened.detail);
  const { store } = opened;
  const nowMs = Date.now();
  const labelled: [CustomerNumber, string][] = [];
  let row = 0;
  for (const generated of generatedRows(rows, Number(values.seed))) {
    const occurredAtMs = Math.floor(nowMs - (100 - (80 * row) / rows) * DAY_MS);
    const customer = (1 + Math.floor(row / LEARNING_ROWS_PER_CUSTOMER_MAX)) as CustomerNumber;
    const requestId = newId('req', occurredAtMs);
    store.learningRows?.keep(customer, keptRow(generated, requestId, occurredAtMs, row));
    if (generated.isFraud && !isStopped(row) && row % SESSION_ROWS === 0) labelled.push([customer, requestId]);
    if (++row % FLUSH_ROWS === 0) await store.learningRows?.flush(nowMs);
  }
  await store.learningRows?.flush(nowMs);
  await label(store, labelled, nowMs);
  await store.close();
}

/** The rules stop half of the frauds; of the others a row of each session has a label. */
function isStopped(row: number): boolean {
  return Math.floor(row / SESSION_ROWS) % 2 === 0;
}

function keptRow(generated: GeneratedRow, requestId: string, occurredAtMs: number, row: number) {
  return {
    requestId,
    occurredAtMs,
    kept: 'label',
    eventType: row % 3 === 0 ? 'login' : 'page_view',
    decision: generated.isFraud && isStopped(row) ? 'BLOCK' : 'ALLOW',
    session: Math.floor(row / SESSION_ROWS)
      .toString(16)
      .padStart(16, '0'),
    accounts: [],
    features: toFeatureRow(generated),
    rate: null,
    policyVersion: 'bench',
  } as const;
}

async function label(store: Store, labelled: readonly [CustomerNumber, string][], nowMs: number): Promise<void> {
  const fingerprintHash = 'a'.repeat(64) as FingerprintHash;
  for (const [customer, requestId] of labelled) {
    const decision = { requestId, fingerprintHash, publicKey: false };
    await store.feedback.label(customer, decision, 'fraud', null, Math.floor(nowMs / 1000), 'key:sk_live_bench');
  }
}

/** Processor time and memory of a process, which writes them itself when it exits. */
interface Measured {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMib: number;
}

/** Runs the built command. */
async function measured(words: readonly string[]): Promise<Measured> {
  const startedMs = performance.now();
  const main = new URL('../app/main.js', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--import', SAYS_USAGE, main, ...words], {
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    process.stderr.write(text);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`models train exited with code ${code}`);
  const [cpuSeconds = NaN, peakMib = NaN] = JSON.parse(/usage (.*)/.exec(said)?.[1] ?? '[]') as number[];
  return {
    seconds: round((performance.now() - startedMs) / 1000),
    cpuSeconds: round(cpuSeconds),
    peakMib: round(peakMib),
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
