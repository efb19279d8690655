import { execFileSync } from 'node:child_process';
import { ClusterAdmission } from '../src/cluster/admission/cluster-admission.ts';
import { openLink } from '../src/cluster/store/redis-link.ts';
import { BATCH_EAGER_REQUESTS, REPLAY_IDS_DEFAULT } from '../src/kernel/limits.ts';
import { LocalAdmission } from '../src/local/local-admission.ts';
import { ReplayGuard } from '../src/local/replay-guard.ts';
import type { Admission, AdmissionRequest } from '../src/ports/admission.ts';
import { helpIfAsked } from '../scripts/usage.ts';
import { startStore } from './cluster/store.ts';

/**
 * Admission over the shared store against that of one node: processor time of the node and of the store for each decision, commands, and
 * memory of an id. In rounds that alternate, on one machine at one time: trust the ratios.
 */
helpIfAsked(`
bench:admission [<decisions>]

  <decisions>  in each round of each row; default 100000`);

const DECISIONS = Number(process.argv[2] ?? 100_000);
const ROUNDS = 5;
/** Batches in flight, as a busy server has. */
const IN_FLIGHT = 4;
const HASH_KEY = Buffer.alloc(16, 7);
const ROWS = [
  { size: 1, keys: 1 },
  { size: 8, keys: 1 },
  { size: 8, keys: 8 },
  { size: BATCH_EAGER_REQUESTS, keys: 1 },
  { size: BATCH_EAGER_REQUESTS, keys: 8 },
] as const;

interface Reading {
  readonly nodeUs: number;
  readonly storeUs: number;
  readonly commands: number;
  readonly bytes: number;
}

const store = await startStore('single');
const link = openLink({ urls: [store.url], user: null, password: null });
while (!link.isUp) await new Promise((done) => setTimeout(done, 10));

let serial = 0;
const nowSeconds = Math.floor(Date.now() / 1_000);
console.log('batch  keys  local µs  cluster µs   ratio  store µs  decisions/s of a store core  commands  bytes/id');
for (const { size, keys } of ROWS) {
  const rounds: { readonly local: Reading; readonly shared: Reading }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const local = await measure(openLocal(), size, keys);
    const cluster = new ClusterAdmission({
      link,
      local: openLocal(),
      hashKey: HASH_KEY,
      nodeId: 'bench',
      isStrict: false,
      deadlineMs: 5_000,
    });
    const shared = await measure(cluster, size, keys);
    await cluster.close();
    if (cluster.counts.alone > 0) throw new Error(`${cluster.counts.alone} requests were decided alone`);
    ask('FLUSHALL');
    // The first round compiles.
    if (round > 0) rounds.push({ local, shared });
  }
  const of = (read: (one: (typeof rounds)[number]) => number): number => median(rounds.map(read)) / DECISIONS;
  const [local, shared, storeUs] = [
    of((one) => one.local.nodeUs),
    of((one) => one.shared.nodeUs),
    of((one) => one.shared.storeUs),
  ];
  console.log(
    [
      String(size).padStart(5),
      String(keys).padStart(5),
      local.toFixed(2).padStart(9),
      shared.toFixed(2).padStart(11),
      (shared / local).toFixed(1).padStart(7),
      storeUs.toFixed(2).padStart(9),
      Math.round(1_000_000 / storeUs)
        .toLocaleString('en')
        .padStart(28),
      of((one) => one.shared.commands)
        .toFixed(3)
        .padStart(9),
      of((one) => one.shared.bytes)
        .toFixed(0)
        .padStart(9),
    ].join(' '),
  );
}
await link.close();
await store.stop();

function openLocal(): LocalAdmission {
  return new LocalAdmission(new ReplayGuard(REPLAY_IDS_DEFAULT, HASH_KEY), { stage: () => {} });
}

async function measure(admission: Admission, size: number, keys: number): Promise<Reading> {
  const batches = Array.from({ length: Math.ceil(DECISIONS / size) }, () =>
    Array.from({ length: size }, (_request, n) => requestOf(1 + (n % keys))),
  );
  const before = read();
  let next = 0;
  const drive = async (): Promise<void> => {
    for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
      const verdicts = await admission.admit(batch);
      if (verdicts.some(({ outcome }) => outcome !== 'admitted')) throw new Error('a request was refused');
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, drive));
  const after = read();
  return {
    nodeUs: after.nodeUs - before.nodeUs,
    storeUs: after.storeUs - before.storeUs,
    commands: after.commands - before.commands,
    bytes: after.bytes - before.bytes,
  };
}

function requestOf(keyNumber: number): AdmissionRequest {
  return {
    window: 'decide',
    keyNumber,
    allowance: 2 ** 30,
    source: null,
    requestId: `5f0c4a52-1f1f-4b0f-9c8e-${String(serial++).padStart(12, '0')}`,
    timestampSeconds: nowSeconds,
    nowSeconds,
  };
}

function read(): Reading {
  const { user, system } = process.cpuUsage();
  const info = ask('INFO', 'cpu', 'memory');
  const field = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
  return {
    nodeUs: user + system,
    storeUs: (field('used_cpu_user_main_thread') + field('used_cpu_sys_main_thread')) * 1_000_000,
    commands: link.counts.commands,
    bytes: field('used_memory'),
  };
}

function ask(...words: readonly string[]): string {
  return execFileSync('redis-cli', ['-u', store.url, ...words], { encoding: 'utf8' });
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
