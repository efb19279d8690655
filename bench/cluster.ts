import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mainThreadUs, ProcessorClock } from './check/processor-time.ts';
import { readOptions } from './cluster/options.ts';
import { report, type RoundFigures } from './cluster/report.ts';
import { openSystem, type System } from './cluster/system.ts';
import { type CommandFigures, readStore } from './cluster/store-figures.ts';
import { usageOf } from './extract/usage.ts';
import { load, writeRequests } from './load.ts';
import type { SendOutcome } from './open-loop/sender.ts';
import type { SendPlan } from './open-loop/plan.ts';
import { Sender } from './open-loop/run-phase.ts';
import { readOrExit } from './read-or-exit.ts';

/**
 * Decisions on 1, 2 and 3 nodes over one store, next to a server that works alone, in one run on this machine. Each system is started,
 * warmed up, measured and stopped in turn, round by round.
 */

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 3;
const DRAIN_MS = 5_000;
/** Choice: more than a node answers here. */
const REQUESTS_PER_SECOND = 40_000;

const options = readOrExit(readOptions);
const found: RoundFigures[] = [];
const senders = Array.from({ length: Math.max(1, ...options.nodes) }, () => new Sender());
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-cluster-bench-'));
try {
  for (let round = 0; round < options.rounds; round++)
    for (const count of options.nodes) {
      const system = await openSystem(count, options.store, options.nodeFlags);
      try {
        const figures = await measure(system, round);
        found.push(figures);
        console.error(`round ${round + 1}, ${figures.system}: p99 ${figures.p99_ms.toFixed(2)} ms`);
      } finally {
        await system.stop();
      }
    }
  report(found, options);
} finally {
  for (const sender of senders) sender.close();
  rmSync(folder, { recursive: true, force: true });
}

async function measure(system: System, round: number): Promise<RoundFigures> {
  await send(system, WARM_UP_SECONDS, round * 10);
  const nodes = system.nodePids.map((pid) => new ProcessorClock(pid));
  const stores = (system.store?.pids ?? []).map((pid) => new ProcessorClock(pid));
  system.store?.reset();
  const read = () => ({ nodes: total(nodes), main: mainThreads(system), store: total(stores) });
  const before = read();
  const outcomes = await send(system, options.seconds, round * 10 + 1);
  const after = read();
  const store = system.store?.read() ?? readStore('');
  const latency = outcomes.flatMap(({ latencyMs }) => [...latencyMs]).sort((a, b) => a - b);
  const decisions = latency.length;
  const per = ([name, { calls, us }]: readonly [string, CommandFigures]) =>
    [name, { calls: calls / decisions, us: us / decisions }] as const;
  return {
    system: system.name,
    round: round + 1,
    p50_ms: latency[Math.floor(decisions * 0.5)] ?? NaN,
    p99_ms: latency[Math.floor(decisions * 0.99)] ?? NaN,
    not_ok: outcomes.flatMap(({ status }) => [...status]).filter((status) => status !== 200).length,
    nodes_us: (after.nodes - before.nodes) / decisions,
    main_us: (after.main - before.main) / decisions,
    store_us: (after.store - before.store) / decisions,
    commands: Object.fromEntries([...store.commands].map(per)),
    net_bytes: store.netBytes / decisions,
    store_mb: store.memoryBytes / 1e6,
    node_mb: usageOf(system.nodePids[0]).residentMb,
    decisions_per_second: options.capacity ? await capacityOf(system, round) : null,
  };
}

function mainThreads({ nodePids }: System): number {
  return nodePids.reduce((sum, pid) => sum + mainThreadUs(pid), 0);
}

function total(clocks: readonly ProcessorClock[]): number {
  return clocks.reduce((sum, clock) => sum + clock.readUs(), 0);
}

/** Sends at the fixed rate, the same share to each node. */
function send(system: System, seconds: number, seed: number): Promise<readonly SendOutcome[]> {
  const plan = (origin: string, node: number): SendPlan => ({
    origin,
    key: system.key,
    arrivals: {
      perSecond: options.rate / system.origins.length,
      seconds,
      process: 'poisson',
      seed: seed * 100 + node,
    },
    connections: CONNECTIONS,
    seed: seed * 100 + node,
    shape: {},
    drainMs: DRAIN_MS,
  });
  return Promise.all(system.origins.map((origin, node) => (senders[node] ?? new Sender()).run(plan(origin, node))));
}

/** Sends as fast as the nodes answer. */
async function capacityOf(system: System, round: number): Promise<number> {
  const count = Math.ceil((REQUESTS_PER_SECOND * options.seconds) / system.origins.length);
  const files = system.origins.map((_, node) => join(folder, `requests-${node}`));
  for (const [node, file] of files.entries()) {
    const first = 10_000_000 * (round + 1) + node * count;
    await writeRequests(file, count, system.key, '127.0.0.1', first);
  }
  const results = await Promise.all(
    system.origins.map((origin, node) => load(Number(new URL(origin).port), files[node] ?? '', options.seconds)),
  );
  return results.reduce((sum, { requests, failed, seconds }) => sum + (requests - failed) / seconds, 0);
}
