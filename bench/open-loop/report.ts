import Table from 'cli-table3';
import { median } from '../webhooks/report.ts';
import type { SendOutcome } from './sender.ts';
import { countStatuses, curve, slices, summarise, type LatencySummary, type Slice } from './summary.ts';

/** Results of one phase: one target at one rate. */
export interface PhaseReport {
  readonly target: string;
  readonly rate: number;
  readonly round: number;
  readonly latency: LatencySummary;
  /** For a server that was just started: its first seconds and the rest of the phase. */
  readonly start?: { readonly first: LatencySummary; readonly later: LatencySummary };
  readonly statuses: Readonly<Record<string, number>>;
  /** Latency at each of `CURVE_SHARES`, ms. */
  readonly curve: readonly number[];
  /** Includes the warm-up. */
  readonly slices: readonly Slice[];
  readonly sender_processor_ms: number;
}

/** Choice: the first five seconds after a start are judged separately. */
export const FIRST_MS = 5_000;
const SLICE_MS = 500;
const PERCENTILES = ['p50_ms', 'p90_ms', 'p99_ms', 'p999_ms', 'max_ms'] as const;

export function reportPhase(
  outcome: SendOutcome,
  phase: {
    readonly target: string;
    readonly rate: number;
    readonly round: number;
    readonly warmUpMs: number;
    readonly isFromStart: boolean;
  },
): PhaseReport {
  const { target, rate, round, warmUpMs, isFromStart } = phase;
  return {
    target,
    rate,
    round,
    latency: summarise(outcome, warmUpMs),
    ...(isFromStart && { start: { first: summarise(outcome, 0, FIRST_MS), later: summarise(outcome, FIRST_MS) } }),
    statuses: countStatuses(outcome),
    curve: curve(outcome, warmUpMs),
    slices: slices(outcome, SLICE_MS),
    sender_processor_ms: Math.round(outcome.senderProcessorMs),
  };
}

export function tableOf(phases: readonly PhaseReport[]): string {
  const table = new Table({
    head: ['target', 'rate/s', 'round', 'p50', 'p90', 'p99', 'p99.9', 'max', 'sent late p99', 'not 2xx'],
    colAligns: ['left', ...Array.from({ length: 9 }, () => 'right' as const)],
    style: { head: [], border: [] },
  });
  for (const { target, rate, round, latency, start, statuses } of phases) {
    const row = (name: string, { late_p99_ms: late, ...of }: LatencySummary): void => {
      table.push([name, rate, round + 1, ...PERCENTILES.map((p) => ms(of[p])), ms(late), notOk(statuses)]);
    };
    if (start === undefined) row(target, latency);
    else {
      row(`${target}, first ${FIRST_MS / 1_000} s`, start.first);
      row(`${target}, later`, start.later);
    }
  }
  return table.toString();
}

/** Ratios within one run and their median: decide to echo per round, or the first seconds after a start to the later ones. */
export function ratiosOf(phases: readonly PhaseReport[]): readonly string[] {
  const lines: string[] = [];
  for (const rate of new Set(phases.map((phase) => phase.rate))) {
    const at = phases.filter((phase) => phase.rate === rate);
    const echoes = at.filter(({ target }) => target === 'bare echo');
    const decides = at.filter(({ target }) => target !== 'bare echo');
    const say = (
      what: string,
      name: 'p50_ms' | 'p99_ms' | 'p999_ms',
      pairs: readonly (readonly [LatencySummary, LatencySummary])[],
    ): void => {
      if (pairs.length === 0) return;
      const ratios = pairs.map(([one, other]) => one[name] / other[name]);
      lines.push(
        `${rate}/s, ${name.replace('_ms', '').replace('p999', 'p99.9')}, ${what}: ${median(ratios).toFixed(2)} (median of ${ratios.length}: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')})`,
      );
    };
    const pairs = decides.flatMap((decide) => {
      const echo = echoes.find(({ round }) => round === decide.round);
      return echo === undefined ? [] : [[decide.latency, echo.latency] as const];
    });
    for (const name of ['p50_ms', 'p99_ms', 'p999_ms'] as const) say('decide / bare echo', name, pairs);
    const starts = decides.flatMap(({ start }) => (start === undefined ? [] : [[start.first, start.later] as const]));
    say(`first ${FIRST_MS / 1_000} s / later`, 'p99_ms', starts);
  }
  return lines;
}

function notOk(statuses: Readonly<Record<string, number>>): string {
  const bad = Object.entries(statuses).filter(([status]) => !status.startsWith('2'));
  return bad.length === 0
    ? '0'
    : bad.map(([status, count]) => `${count} × ${status === '0' ? 'no response' : status}`).join(', ');
}

function ms(value: number): string {
  if (Number.isNaN(value)) return '–';
  return value === Infinity ? 'no response' : value.toFixed(2);
}
