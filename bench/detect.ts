import { writeFileSync } from 'node:fs';
import { SingleBar } from 'cli-progress';
import { compilePolicies, DEFAULT_POLICY_SET, type PolicySet } from '../src/risk/policy/policy-set.ts';
import { readPolicyFile } from '../src/assets/policy-read.ts';
import { openDetectEngine } from './detect/engine.ts';
import { readOptions, type DetectOptions } from './detect/options.ts';
import { readOrExit } from './read-or-exit.ts';
import { reportText } from './detect/print.ts';
import { computeReport, type Report } from './detect/report.ts';
import { runSessions, type RunResult } from './detect/run.ts';
import type { Tally } from './detect/tally.ts';
import { loadPackages } from './micro/geo.ts';
import { exportWeek } from './detect/export-week.ts';
import type { GeoContent } from '../src/assets/asset-messages.ts';
import { createGeoIp, type GeoIp } from '../src/score/geoip.ts';
import type { PlannedSession } from '../scripts/traffic/events.ts';
import { planWeek } from '../scripts/traffic/week.ts';

/** Measures detection: runs the rules over simulated days of people and attackers. `--help` lists the options. */

const options = readOrExit(readOptions);
await main();

async function main(): Promise<void> {
  const policies = await readPolicies();
  const packages = await loadPackages();
  const none: GeoContent = { kind: 'absent', generation: 0, detail: '' };
  const geo = options.data ? packages : { ...packages, networks: none, domains: none };
  if (geo.city.kind !== 'ready') throw new Error('the location database package is not installed');
  if (options.export !== undefined) {
    const [seed = 1] = options.seed;
    const events = await exportWeek(options.export, planned(seed, createGeoIp(geo)));
    console.log(`${events} events of seed ${seed} are in ${options.export}`);
    return;
  }
  const runs: { seed: number; report: Report }[] = [];
  const rowCounters: Tally[] = [];
  let outcomesReported = 0;
  let recordsMade = 0;
  const startedMs = performance.now();
  for (const seed of options.seed) {
    const engine = openDetectEngine({ geo, policies, velocityBytes: options.velocityMb * 2 ** 20 });
    const { tally, outcomesReported: more } = await play(seed, engine);
    rowCounters.push(tally);
    outcomesReported += more;
    recordsMade += engine.recordsMade();
    runs.push({ seed, report: computeReport([tally]) });
  }
  const report = computeReport(rowCounters);
  console.log(reportText(report, runs));
  const seconds = (performance.now() - startedMs) / 1_000;
  const told = options.outcomes ? `, ${outcomesReported} outcomes reported` : '';
  console.log(
    `\n${report.events} events${told}, ${recordsMade} records of the velocity store, in ${seconds.toFixed(0)} s`,
  );
  if (options.json !== undefined) {
    const at = new Date().toISOString();
    const counts = { outcomes_reported: outcomesReported, velocity_records: recordsMade };
    const written = { at, node: process.version, options, seconds, ...counts, report, runs };
    writeFileSync(options.json, `${JSON.stringify(written, null, 1)}\n`);
  }
  if (options.picture !== undefined) {
    const { drawPicture } = await import('./detect/picture.ts');
    writeFileSync(options.picture, drawPicture(report, titleOf(options)));
  }
}

async function play(seed: number, engine: ReturnType<typeof openDetectEngine>): Promise<RunResult> {
  const sessions = planned(seed, engine.geo);
  const bar = new SingleBar({
    format: `seed ${seed} {bar} {percentage} %, ${sessions.length} sessions, {eta_formatted} left`,
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
  });
  if (process.stderr.isTTY) bar.start(1_000, 0);
  const result = await runSessions({
    sessions,
    engine,
    reportsOutcomes: options.outcomes,
    onProgress: (begun) => bar.update(Math.min(1_000, Math.round(begun * 1_000))),
  });
  bar.stop();
  return result;
}

function planned(seed: number, geo: Pick<GeoIp, 'lookup'>): readonly PlannedSession[] {
  const { scale, days, attacks } = options;
  return planWeek({ seed, scale, days, attacks }, (ip, version) => geo.lookup(ip, version)?.country ?? null);
}

async function readPolicies(): Promise<PolicySet> {
  if (options.policy === undefined) return DEFAULT_POLICY_SET;
  const read = await readPolicyFile(options.policy);
  if (read.kind !== 'ok') throw new Error(`cannot read the policy file ${options.policy}; see "policy check"`);
  // Ignores the file's entries for single customers: the bench does not have these customers.
  return compilePolicies(read.document, () => null);
}

function titleOf({ seed, scale, days }: DetectOptions): string {
  return `Detection over ${days} simulated days, scale ${scale}, ${seed.length === 1 ? 'seed' : 'seeds'} ${seed.join(', ')}`;
}
