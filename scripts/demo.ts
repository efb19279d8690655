import { parseArgs } from 'node:util';
import { SingleBar } from 'cli-progress';
import { createClient, type Client } from '../src/client/client.ts';
import { PERSONAS } from './demo/personas.ts';
import { play, type PlayedSession } from './demo/play.ts';
import { catchesOf, decisionsOf, readingOf } from './demo/print.ts';
import { makeReport, type Report } from './demo/report.ts';
import { KEPT_POLICY, keptSettings, startServer, type DemoServer } from './demo/server.ts';
import { helpIfAsked } from './usage.ts';

/** Plays three simulated days of a shop, with shoppers and attackers, against a temporary server, and prints its decisions. */
helpIfAsked(`
demo [--json] [--keep] [--until <time>]

  --json  prints one JSON object
  --keep  plays the last three days, prints a link to the dashboard, and keeps the server running until Ctrl-C, on a free port or
          at GATEHOUSE_HOST, GATEHOUSE_PORT, GATEHOUSE_DASHBOARD_PORT and GATEHOUSE_PUBLIC_URL
  --until <time>  end of the three days, for example 2026-11-21T00:00:00Z`);

/** Fixed, so that every run prints the same table. The user agents in browsers.ts are current at this time. */
const USUAL_UNTIL = '2026-11-21T00:00:00Z';
const DAYS = 3;
const DAY_SECONDS = 86_400;
const MINUTE_MS = 60_000;
/** Choice: width of the output when it is written to a file or a pipe. */
const COLUMNS = 120;
/** Source: contract, 15.6: a new key takes effect within 1 s. */
const KEY_WAIT_MS = 5_000;
/** Source: the shell's convention for termination by Ctrl-C. */
const INTERRUPTED_EXIT = 130;
const USAGE_EXIT = 2;

const { json, keep, until } = readOptions();
const startSeconds = Date.parse(until) / 1_000 - DAYS * DAY_SECONDS;

/** Aborted by Ctrl-C. The work stops at the next event, so that the normal path performs the clean-up. */
const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort());

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function main(): Promise<void> {
  const startedAtMs = performance.now();
  const server = await (keep ? startServer(keptSettings(), KEPT_POLICY) : startServer());
  try {
    await playAll(server, startedAtMs);
  } finally {
    await server.stop();
  }
}

async function playAll(server: DemoServer, startedAtMs: number): Promise<void> {
  const { customer_id: customer } = await server.run('customers', 'create', 'shop');
  const { secret_key: secretKey } = await server.run('keys', 'create', '--customer', String(customer));
  let atSeconds = startSeconds;
  const client = createClient({
    url: server.url,
    key: String(secretKey),
    nowMs: () => atSeconds * 1_000,
  });
  await waitForKey(client);
  const sessions = await playDays(client, (seconds) => (atSeconds = seconds));
  if (stopped.signal.aborted) {
    process.exitCode = INTERRUPTED_EXIT;
    return;
  }
  // The virtual clock stands at the last event: without this, "the last hour" of the dashboard ends up to an hour too early.
  if (keep) {
    atSeconds = Date.parse(until) / 1_000;
    // Refused after its signature was verified, which sets the clock: nothing is stored or counted.
    await client.report([]);
  }
  const kept = keep ? await findKept(server, String(customer), String(secretKey)) : null;
  const report = makeReport({ until, days: DAYS }, PERSONAS, sessions);
  printReport(report, kept);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  say(`\n${report.events} decisions in ${seconds.toFixed(1)} s, including the start of the server.`);
  if (kept === null) return;
  say(
    `\nThe server runs until Ctrl-C. Look at its decisions:\n\n  ${kept.dashboard}\n\n` +
      `The link signs in once. API: ${kept.url}, secret key ${kept.secret_key}, data in ${kept.data_dir}`,
  );
  await untilStopped();
}

/** Plays all days of all personas. Returns their sessions, which are incomplete after Ctrl-C. */
async function playDays(client: Client, setTime: (seconds: number) => void): Promise<readonly PlayedSession[]> {
  const days = Array.from({ length: DAYS }, (_, number) => ({
    number,
    startSeconds: startSeconds + number * DAY_SECONDS,
  }));
  const planned = days.flatMap((day) =>
    PERSONAS.flatMap((persona) =>
      persona.plan(day).map(({ events }) => ({ session: { persona, events: [] } as PlayedSession, events })),
    ),
  );
  const progress = createProgress(
    planned.length,
    planned.reduce((total, { events }) => total + events.length, 0),
  );
  const onEvent = (done: number, seconds: number): void => progress.update(done, seconds);
  try {
    await play(planned, { client, setTime, onEvent, signal: stopped.signal });
  } finally {
    // A progress bar that is not stopped leaves the terminal without a cursor.
    progress.stop();
  }
  return planned.map(({ session }) => session);
}

/** Where the server that keeps running is reached, in the form of the JSON output. */
interface KeptServer {
  readonly url: string;
  /** A link that signs in once. */
  readonly dashboard: string;
  readonly secret_key: string;
  readonly data_dir: string;
}

async function findKept(server: DemoServer, customer: string, secretKey: string): Promise<KeptServer> {
  const { url, dataDir } = server;
  const link = await server.run('dashboard', 'link', '--customer', customer);
  return { url, dashboard: String(link['url']), secret_key: secretKey, data_dir: dataDir };
}

function printReport(report: Report, kept: KeptServer | null): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ ...report, ...(kept !== null && { server: kept }) }, null, 2)}\n`);
    return;
  }
  const width = process.stdout.columns ?? COLUMNS;
  const parts = [decisionsOf(report, width), catchesOf(report, width), readingOf(report)];
  process.stdout.write(`${parts.join('\n\n\n')}\n`);
}

/** Waits until the server knows the new key. The probe sends a body that is not JSON, so that no decision is made. */
async function waitForKey(client: Client): Promise<void> {
  const until = performance.now() + KEY_WAIT_MS;
  while (performance.now() < until && !stopped.signal.aborted) {
    const answer = await client.decide('no JSON');
    if (answer.kind === 'answer' && answer.status === 400) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  if (!stopped.signal.aborted) throw new Error('the server did not accept the new key in time');
}

/** Without `--until`, the days of `--keep` end now, so that the dashboard's ranges of time contain them. */
function readOptions(): { json: boolean; keep: boolean; until: string } {
  try {
    const { values } = parseArgs({
      options: { json: { type: 'boolean' }, keep: { type: 'boolean' }, until: { type: 'string' } },
    });
    const keep = values.keep ?? false;
    const until =
      values.until ?? (keep ? new Date(Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS).toISOString() : USUAL_UNTIL);
    if (Number.isNaN(Date.parse(until))) throw new Error(`--until is not a time: ${until}`);
    return { json: values.json ?? false, keep, until };
  } catch (error) {
    process.stderr.write(
      `demo: ${error instanceof Error ? error.message : String(error)}\nusage: demo [--json] [--keep] [--until <time>]\n`,
    );
    process.exit(USAGE_EXIT);
  }
}

/** Formats a time as `2026-11-18 07:00`, UTC. */
function clock(atSeconds: number): string {
  return new Date(atSeconds * 1_000).toISOString().slice(0, 16).replace('T', ' ');
}

interface Progress {
  update(done: number, atSeconds: number): void;
  stop(): void;
}

/** Shows progress on standard error: a bar on a terminal, otherwise one line, suitable for a log. */
function createProgress(sessions: number, events: number): Progress {
  say(
    `Playing ${sessions} sessions with ${events} events over ${DAYS} days from ${clock(startSeconds).slice(0, 10)}.\n`,
  );
  if (!process.stderr.isTTY) return { update: () => {}, stop: () => {} };
  const bar = new SingleBar({
    format: '{bar} {percentage}% | {clock} | {value} of {total} events',
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
    fps: 10,
  });
  bar.start(events, 0, { clock: '' });
  return {
    update: (done, atSeconds) => bar.update(done, { clock: clock(atSeconds) }),
    stop: () => bar.stop(),
  };
}

function untilStopped(): Promise<void> {
  // The timer keeps the process alive, which has no other pending work.
  const alive = setInterval(() => {}, 60_000);
  return new Promise((done) => {
    stopped.signal.addEventListener('abort', () => {
      clearInterval(alive);
      done();
    });
  });
}

await main().catch((error: unknown) => {
  say(`demo: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
