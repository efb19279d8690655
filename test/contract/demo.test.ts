import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PersonaResult, Report } from '../../scripts/demo/report.ts';
import { PERSONAS } from '../../scripts/demo/personas.ts';

/** The demo is the rules' examination: a whole day through a real server, over signed HTTP. */

const DEMO = fileURLToPath(new URL('../../dist/scripts/demo.js', import.meta.url));
/** Choice: what an attacker persona must reach whose every request shows it. */
const STOPPED_SHARE_MIN = 0.9;

let folder: string;
let first: string;
let report: Report;

const runDemo = async (): Promise<string> => {
  const { stdout } = await promisify(execFile)(process.execPath, [DEMO, '--json'], {
    env: { ...process.env, TMPDIR: folder },
    maxBuffer: 16_777_216,
  });
  return stdout;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-demo-test-'));
  first = await runDemo();
  report = JSON.parse(first) as Report;
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const resultOf = (id: string): PersonaResult => {
  const result = report.personas.find((one) => one.id === id);
  if (result === undefined) throw new Error(`the demo has no result for ${id}`);
  return result;
};
const idsOf = (belongs: (persona: (typeof PERSONAS)[number]) => boolean): string[] =>
  PERSONAS.filter(belongs).map(({ id }) => id);

describe('the demo', () => {
  it('plays a day of about 300 sessions and leaves nothing behind', async () => {
    expect(report.sessions).toBeGreaterThan(250);
    expect(report.personas.map(({ id }) => id)).toEqual(PERSONAS.map(({ id }) => id));
    expect(await readdir(folder)).toEqual([]);
  });

  it('gives the same results in every run', async () => {
    expect(await runDemo()).toBe(first);
  });

  it.each(idsOf(({ kind }) => kind === 'shopper'))('lets every event of %s through', (id) => {
    const { events, stopped_events: stopped, reasons } = resultOf(id);
    expect(events).toBeGreaterThan(0);
    expect({ stopped, reasons: stopped === 0 ? [] : reasons }).toEqual({ stopped: 0, reasons: [] });
  });

  it.each(idsOf(({ kind, history }) => kind === 'attacker' && history === null))('stops the sessions of %s', (id) => {
    const { sessions, stopped_sessions: stopped } = resultOf(id);
    expect(stopped / sessions).toBeGreaterThanOrEqual(STOPPED_SHARE_MIN);
  });

  it('challenges every event without a session token, and never blocks one', () => {
    const { events, decisions, reasons } = resultOf('no_session_token');
    expect(decisions).toEqual({ ALLOW: 0, ALLOW_WATCH: 0, SOFT_CHALLENGE: events, REVIEW: 0, BLOCK: 0 });
    expect(reasons).toEqual([{ reason: 'missing_session_token', share: 1 }]);
  });

  it('ends in order upon a signal, with its server and its folder', async () => {
    const child = spawn(process.execPath, [DEMO, '--json', '--keep'], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let told = '';
    const exited = once(child, 'exit');
    await new Promise<void>((reached) => {
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        told += text;
        if (told.includes('until Ctrl-C')) reached();
      });
      child.once('exit', () => reached());
    });
    const [, url, data] = /until Ctrl-C: (\S+), .* data in (\S+)/.exec(told) ?? [];
    expect(existsSync(data ?? '')).toBe(true);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    child.kill('SIGINT');
    expect(await exited).toEqual([0, null]);
    expect(await readdir(folder)).toEqual([]);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed');
  });
});
