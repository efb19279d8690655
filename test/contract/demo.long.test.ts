import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Expectation } from '../../scripts/demo/plan.ts';
import { PERSONAS } from '../../scripts/demo/personas.ts';
import { readingOf } from '../../scripts/demo/print.ts';
import { CAUGHT_SHARE_MIN, NOT_CAUGHT_SHARE_MAX, type PersonaResult, type Report } from '../../scripts/demo/report.ts';
import { IS_FULL } from '../support/long.ts';
import { get } from '../support/requests.ts';

/** The demo tests the rules end to end: three days through a real server and its velocity store, over signed HTTP. */

const DEMO = fileURLToPath(new URL('../../dist/scripts/demo.js', import.meta.url));
/** Every run of these days has the same report. */
const UNTIL = '2026-11-21T00:00:00Z';
/** A run takes about 15 s on two idle cores, and other tests run at the same time. */
const RUN_MS = 300_000;

let folder: string;
let report: Report;
/** Observations of the demo's server and folder while the demo was running with --keep, and its exit after a signal. */
const seen = { url: '', dashboard: '', dataDirWasThere: false, healthStatus: 0, signIn: 0, exit: [] as unknown[] };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-demo-test-'));
  const child = start('--json', '--keep', '--until', UNTIL);
  const exited = once(child, 'exit');
  const output = text(child.stdout);
  const words = /(http\S+#code=(\S+))\n[^]*API: (\S+), .* data in (\S+)/.exec(await told(child, 'data in ')) ?? [];
  const [, dashboard = '', code = '', url = '', data = ''] = words;
  seen.url = url;
  seen.dashboard = dashboard;
  seen.signIn = await signIn(url, code);
  seen.dataDirWasThere = existsSync(data);
  seen.healthStatus = (await get(url, '/healthz')).status;
  child.kill('SIGINT');
  seen.exit = await exited;
  report = JSON.parse(await output) as Report;
}, RUN_MS);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Uses up the code of a link as the dashboard's page does. Returns the status. */
async function signIn(url: string, code: string): Promise<number> {
  const { status } = await fetch(`${url}/dashboard/session`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json', 'x-gatehouse': '1' },
    body: JSON.stringify({ code }),
  });
  return status;
}

const resultOf = (id: string): PersonaResult => {
  const result = report.personas.find((one) => one.id === id);
  if (result === undefined) throw new Error(`the demo has no result for ${id}`);
  return result;
};
const idsOf = (belongs: (expectation: Expectation) => boolean): string[] =>
  PERSONAS.filter(({ expectation }) => belongs(expectation)).map(({ id }) => id);

type RunningDemo = ChildProcessByStdio<null, Readable, Readable>;

const start = (...options: string[]): RunningDemo => {
  const env = { ...process.env, TMPDIR: folder };
  return spawn(process.execPath, [DEMO, ...options], { env, stdio: ['ignore', 'pipe', 'pipe'] });
};

/** Returns the demo's standard error up to the text `what`. */
const told = async ({ stderr }: RunningDemo, what: string): Promise<string> => {
  let said = '';
  for await (const chunk of stderr.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    if (said.includes(what)) break;
  }
  return said;
};

describe('the demo', () => {
  it('The demo plays three days with thousands of events and leaves no files behind', async () => {
    expect(report.days).toBe(3);
    expect(report.events).toBeGreaterThan(5_000);
    expect(report.personas.map(({ id }) => id)).toEqual(PERSONAS.map(({ id }) => id));
    expect(await readdir(folder)).toEqual([]);
  });

  it('Each person of the demo has their own account', () => {
    const owners = new Map<string, Set<string>>();
    const days = [0, 1, 2].map((number) => ({ number, startSeconds: number * 86_400 }));
    const sessions = days.flatMap((day) => PERSONAS.flatMap((persona) => persona.plan(day)));
    for (const { body } of sessions.flatMap(({ events }) => events)) {
      const { user_id: user, email } = body.entity_keys ?? {};
      if (user === undefined || email === undefined) continue;
      owners.set(email, (owners.get(email) ?? new Set()).add(user));
    }
    expect(owners.size).toBeGreaterThan(1_000);
    expect([...owners].filter(([, users]) => users.size > 1)).toEqual([]);
  });

  it.each(idsOf(({ kind }) => kind === 'let_through'))(
    'Every event of %s is let through on all days of the demo',
    (id) => {
      const { kind, events, stopped_events: stopped, strongest_reasons: reasons } = resultOf(id);
      expect(kind).toBe('shopper');
      expect(events).toBeGreaterThan(0);
      expect({ stopped, reasons }).toEqual({ stopped: 0, reasons: [] });
    },
  );

  it.each(idsOf((expectation) => expectation.kind === 'caught' && expectation.measure === 'sessions'))(
    'The sessions of %s are stopped in the demo',
    (id) => {
      const { sessions, stopped_sessions: stopped, caught } = resultOf(id);
      expect(stopped / sessions).toBeGreaterThanOrEqual(CAUGHT_SHARE_MIN);
      expect(caught).toBeCloseTo(stopped / sessions, 3);
    },
  );

  it.each(idsOf((expectation) => expectation.kind === 'caught' && expectation.measure === 'events'))(
    'The events of %s are stopped from its threshold on, and none before it',
    (id) => {
      const { early_events: early, due_events: due, stopped_due_events: stopped, caught, ...all } = resultOf(id);
      expect(early).toBeGreaterThan(0);
      expect(early + due).toBe(all.events);
      expect(all.stopped_events).toBe(stopped);
      expect(stopped / due).toBeGreaterThanOrEqual(CAUGHT_SHARE_MIN);
      expect(caught).toBeCloseTo(stopped / due, 3);
    },
  );

  it('A sign-up farm is detected from the 4th sign-up on, of 24 on each of its days', () => {
    expect(resultOf('signup_farm_patient').reasons).toContainEqual({
      reason: 'velocity_ip_signups_24h',
      share: 21 / 24,
    });
  });

  it.each(idsOf(({ kind }) => kind === 'not_caught'))('The attacker %s is not caught, as documented', (id) => {
    const { kind, sessions, stopped_sessions: stopped } = resultOf(id);
    expect(kind).toBe('attacker');
    expect(stopped / sessions).toBeLessThanOrEqual(NOT_CAUGHT_SHARE_MAX);
  });

  it('All results of the demo match its expectations, without a false positive', () => {
    expect(report.personas.filter((one) => !one.as_expected).map(({ id }) => id)).toEqual([]);
    expect([report.false_alarm_rate, report.false_alarm_session_rate]).toEqual([0, 0]);
    expect(report.due_catch_rate).toBeGreaterThanOrEqual(CAUGHT_SHARE_MIN);
    expect(report.catch_rate).toBeLessThan(report.due_catch_rate);
  });

  it('The demo explains what caught means and prints the same number of events per decision as docs/detection.md', () => {
    const text = readingOf(report);
    const page = readFileSync(new URL('../../docs/detection.md', import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');
    const split = Object.entries(report.attacker_decisions).map(([decision, count]) => `${count} ${decision}`);
    expect(text).not.toContain('stopped');
    for (const said of [text, page]) {
      expect(said).toContain('challenged, held for review or blocked');
      expect(said).toContain(`${split.join(', ')}.`);
    }
  });

  it('Every event without a session token is challenged, and none is blocked', () => {
    const { events, decisions, reasons } = resultOf('no_session_token');
    expect(decisions).toEqual({ ALLOW: 0, ALLOW_WATCH: 0, SOFT_CHALLENGE: events, REVIEW: 0, BLOCK: 0 });
    expect(reasons).toEqual([{ reason: 'missing_session_token', share: 1 }]);
  });

  it('The demo with --keep prints a link that signs in to the dashboard', () => {
    expect(seen.dashboard).toBe(`${seen.url}/dashboard${new URL(seen.dashboard).hash}`);
    expect(seen.signIn).toBe(204);
  });

  it('The demo with --keep runs until a signal, and then stops its server and removes its folder', async () => {
    expect(seen).toMatchObject({ dataDirWasThere: true, healthStatus: 200, exit: [0, null] });
    expect((report as Report & { server: { url: string } }).server.url).toBe(seen.url);
    expect(await readdir(folder)).toEqual([]);
    await expect(fetch(`${seen.url}/healthz`)).rejects.toThrow('fetch failed');
  });

  // The counts of one run are compared with those of docs/detection.md above.
  it.runIf(IS_FULL)('A second run over the same days prints the same report', { timeout: RUN_MS }, async () => {
    const again = JSON.parse(await text(start('--json', '--until', UNTIL).stdout)) as Report;
    const { server: _, ...first } = report as Report & { server: unknown };
    expect(again).toEqual(first);
  });

  it(
    'The demo stops gracefully on a signal in the middle of its days, without a report',
    { timeout: RUN_MS },
    async () => {
      const child = start('--json');
      const exited = once(child, 'exit');
      const output = text(child.stdout);
      await told(child, 'Playing');
      child.kill('SIGINT');
      expect(await exited).toEqual([130, null]);
      expect(await output).toBe('');
      expect(await readdir(folder)).toEqual([]);
    },
  );
});
