import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type RunningServer } from '../support/server.ts';
import { startSite, type Site } from '../unit/extract/fetch/site.ts';

/**
 * Runs every command of the README as a reader would paste it, one after the other, in a folder that looks like the project.
 * `substitutions` lists what is replaced in commands; `RUN_ELSEWHERE` lists commands that are not run here.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** Command → reason for not running it here. */
const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  'npm ci && npm start': 'the packages are installed; npm-scripts.test.ts runs npm start',
  'npm ci && npm test': 'this is a part of it',
  'npm run demo': 'demo.long.test.ts runs it',
};

/** Files provided by the reader. */
const FILES = {
  'bad-fingerprints.csv': `fingerprint_hash,risk_score\n${'ab'.repeat(32)},90\n`,
  'policy.json': '{"version":"v1","bands":{"block":90}}',
};

/**
 * Output that a command must print in addition to exit code 0, by the command's beginning; all other commands may print anything except a
 * problem.
 */
const PRINTS: readonly (readonly [start: string, pattern: RegExp])[] = [
  ['echo', /"decision": "SOFT_CHALLENGE"/],
  ['sh scripts/decide.sh', /"decision":"\w+"/],
  ['curl -s http://127.0.0.1:8080/v1/outcomes', /"accepted":1,"rejected":\[\]/],
  ['curl -s http://127.0.0.1:8080/v1/webhooks', /"secret":"whsec_/],
  ['curl -si -X DELETE', /^HTTP\/1\.1 204/],
  ['npx gatehouse extract', /Example Domain/],
  ['curl -s "http://127.0.0.1:8080/v1/extractions/ext_ID?wait', /"status":"succeeded"/],
  ['curl -s "http://127.0.0.1:8080/v1/extractions/ext_ID/records', /A first entry/],
];

interface Block {
  readonly language: string;
  readonly code: string;
}

function blocks(): Block[] {
  return [...README.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', code = '']) => ({
    language,
    code,
  }));
}

/** Splits a block into commands; lines joined by a quote, a backslash or a pipe belong to one command. */
function commandsOf({ code }: Block): string[] {
  const commands: string[] = [];
  let open = '';
  for (const line of code.split('\n')) {
    open += open === '' ? line : `\n${line}`;
    const isOpen = (open.match(/'/g)?.length ?? 0) % 2 === 1 || /[\\|]$/.test(line);
    if (isOpen) continue;
    if (open !== '') commands.push(open);
    open = '';
  }
  return commands;
}

const COMMANDS = blocks()
  .filter(({ language }) => language === 'sh')
  .flatMap(commandsOf);

let server: RunningServer;
let site: Site;
let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-readme-'));
  for (const name of ['dist', 'scripts', 'node_modules']) symlinkSync(join(ROOT, name), join(folder, name));
  for (const name of ['package.json', '.npmrc']) cpSync(join(ROOT, name), join(folder, name));
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(folder, name), content);
  const env = { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' };
  [server, site] = await Promise.all([
    // The data directory of `npm start`, so that the commands find it without options.
    startServer({ dataDir: join(folder, 'data'), env }),
    startSite({
      // Responds like example.com.
      '/': {
        headers: { 'content-type': 'text/html' },
        body: `<!doctype html><html lang="en"><head><title>Example Domain</title></head><body><div><h1>Example Domain</h1>
          <p>This domain is for use in documentation examples without needing permission. Avoid use in operations.<p>
          <a href="https://iana.org/domains/example">Learn more</a></div></body></html>`,
      },
      '/en/feed/blog.xml': {
        headers: { 'content-type': 'application/rss+xml' },
        body: `<?xml version="1.0"?><rss version="2.0"><channel><title>Blog</title><link>https://nodejs.org/</link>
          <item><title>A first entry</title><link>https://nodejs.org/1</link><guid>1</guid></item></channel></rss>`,
      },
    }),
  ]);
});
afterAll(async () => {
  await Promise.all([server.stop(), site.close()]);
  rmSync(folder, { recursive: true, force: true });
});

/** Replaces placeholders of the README and addresses outside this machine. `printed` is all output so far. */
function substitutions(printed: string): readonly (readonly [from: string | RegExp, to: string])[] {
  const last = (pattern: RegExp): string => [...printed.matchAll(pattern)].at(-1)?.[1] ?? 'nothing was printed';
  return [
    ['http://127.0.0.1:8080', server.url],
    ['sk_live_YOUR_KEY', server.secretKey],
    // The site runs on this machine; GATEHOUSE_EGRESS_ALLOW permits access for both the server and the command line.
    [/https:\/\/(?:example\.com|nodejs\.org)(?=\/)/g, site.at('127.0.0.1')],
    ['ext_ID', last(/"id":"(ext_\w+)"/g)],
    ['cus_ID', last(/\b(cus_\w+) {2}My shop/g)],
    ['sk_live_abcd', last(/secret {2}(sk_live_\w{4})/g)],
  ];
}

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function run(command: string): Promise<Ran> {
  const child = spawn('bash', ['-c', command], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      URL: server.url,
      GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, out, err };
}

describe('the README', () => {
  test('The README contains every command that the lists of this test name', () => {
    expect(COMMANDS.length).toBeGreaterThan(15);
    for (const command of Object.keys(RUN_ELSEWHERE)) expect(COMMANDS).toContain(command);
    const unused = PRINTS.filter(([start]) => !COMMANDS.some((command) => command.startsWith(start)));
    expect(unused).toEqual([]);
  });

  test('All commands of the README succeed in their order', async () => {
    let variables = '';
    let printed = '';
    for (const command of COMMANDS.filter((one) => RUN_ELSEWHERE[one] === undefined)) {
      const filled = substitutions(printed).reduce((line, [from, to]) => line.replaceAll(from, () => to), command);
      if (/^export \w+=\S+$/.test(filled)) {
        variables += `${filled}\n`;
        continue;
      }
      const { code, out, err } = await run(`set -u\n${variables}${filled}`);
      printed += out;
      const pattern = PRINTS.find(([start]) => command.startsWith(start))?.[1] ?? /\S/;
      expect({ command, code, out, err }).toMatchObject({ code: 0, out: expect.stringMatching(pattern) });
      expect(out).not.toContain('urn:gatehouse:error');
      if (command.startsWith('echo')) expect(JSON.parse(out)).toMatchObject(shownAnswer());
    }
  });
});

/** Returns the response shown in the README for its first decision, without the values that vary. */
function shownAnswer(): object {
  const shown = blocks().find(({ language }) => language === 'json')?.code ?? '';
  const { request_id: _id, latency_ms: _latency, ...rest } = JSON.parse(shown) as Record<string, unknown>;
  return rest;
}
