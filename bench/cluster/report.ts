import { writeFileSync } from 'node:fs';
import Table from 'cli-table3';
import { median } from '../webhooks/report.ts';
import type { ClusterBenchOptions } from './options.ts';

/** Figures of one system in one round. */
export interface RoundFigures {
  readonly system: string;
  readonly round: number;
  /** At the fixed rate. */
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly not_ok: number;
  /** Processor time of all nodes and of the store, per decision. */
  readonly nodes_us: number;
  /** The part of the nodes' main threads. */
  readonly main_us: number;
  readonly store_us: number;
  readonly commands: Readonly<Record<string, { readonly calls: number; readonly us: number }>>;
  readonly net_bytes: number;
  readonly store_mb: number;
  readonly node_mb: number;
  /** With as many requests as are answered; null if it was not measured. */
  readonly decisions_per_second: number | null;
}

export function report(found: readonly RoundFigures[], options: ClusterBenchOptions): void {
  const names = [...new Set(found.map(({ system }) => system))];
  const of = (system: string, figure: (one: RoundFigures) => number): number =>
    median(found.filter((one) => one.system === system).map(figure));
  const head = [
    '',
    'p50 ms',
    'p99 ms',
    'not 2xx',
    'nodes µs',
    'main µs',
    'store µs',
    'commands',
    'store bytes',
    'node MB',
  ];
  if (options.capacity) head.push('decisions/s');
  const table = new Table({
    head,
    colAligns: ['left', ...Array.from({ length: 10 }, () => 'right' as const)],
    style: { head: [], border: [] },
  });
  for (const name of names)
    table.push([
      name,
      of(name, (one) => one.p50_ms).toFixed(2),
      of(name, (one) => one.p99_ms).toFixed(2),
      of(name, (one) => one.not_ok),
      of(name, (one) => one.nodes_us).toFixed(0),
      of(name, (one) => one.main_us).toFixed(0),
      of(name, (one) => one.store_us).toFixed(1),
      of(name, callsOf).toFixed(2),
      of(name, (one) => one.net_bytes).toFixed(0),
      of(name, (one) => one.node_mb).toFixed(0),
      ...(options.capacity ? [of(name, (one) => one.decisions_per_second ?? NaN).toFixed(0)] : []),
    ]);
  console.log(
    `${options.rate}/s over all nodes, store ${options.store}, medians of ${options.rounds} rounds, per decision:`,
  );
  console.log(table.toString());
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ options, found }, null, 1)}\n`);
  const last = found.at(-1);
  if (last === undefined || Object.keys(last.commands).length === 0) return;
  console.log(`commands of ${last.system}, per decision:`);
  for (const [name, { calls, us }] of Object.entries(last.commands).sort(([, a], [, b]) => b.us - a.us))
    console.log(`  ${name.padEnd(24)} ${calls.toFixed(3).padStart(8)} calls ${us.toFixed(2).padStart(8)} µs`);
}

/** Commands that a node sends. Those that a function runs inside the store are counted there as well. */
function callsOf({ commands }: RoundFigures): number {
  const calls = (name: string): number => commands[name]?.calls ?? 0;
  const outer = calls('fcall') + calls('fcall_ro') + calls('eval') + calls('evalsha');
  return outer > 0
    ? outer + calls('xread') + calls('xreadgroup')
    : Object.keys(commands).reduce((sum, name) => sum + calls(name), 0);
}
