import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { commandAsProcess } from '../support/command-line.ts';
import { decide, get, newcomer } from '../support/requests.ts';
import { INSTALLED_LOCATIONS, type RunningServer, startServer } from '../support/server.ts';
import { eventually } from '../support/webhooks.ts';

/** A service whose updates are off asks for no name and opens no connection to another machine. Source: docs/data.md. */

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-way-out-'));
const hook = join(folder, 'hook.cjs');
/** Runs in every thread and every child process: writes each name that is asked for and each connection that is opened, and refuses it. */
writeFileSync(
  hook,
  `const { appendFileSync } = require('node:fs');
const note = (text) => { if (process.env.WAY_OUT_LOG) appendFileSync(process.env.WAY_OUT_LOG, text + '\\n'); };
const isHere = (host) => host === undefined || host === 'localhost' || /^(?:127\\.|::1$|0\\.0\\.0\\.0$)/.test(String(host));
const watch = (holder, name, hostOf) => {
  const before = holder[name];
  if (typeof before !== 'function') return;
  holder[name] = function (...given) {
    const host = hostOf(given);
    if (!isHere(host)) {
      note(name + ' ' + host);
      throw Object.assign(new Error('there is no way out'), { code: 'ENOTFOUND' });
    }
    return before.apply(this, given);
  };
};
const dns = require('node:dns');
for (const holder of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype])
  for (const name of ['lookup', 'resolve', 'resolve4', 'resolve6', 'resolveTxt', 'resolveMx', 'reverse']) watch(holder, name, ([host]) => host);
watch(require('node:net').Socket.prototype, 'connect', ([first, second]) => {
  const options = Array.isArray(first) ? first[0] : first;
  return typeof options === 'object' ? (options.path === undefined ? options.host : undefined) : second;
});
watch(require('node:dgram').Socket.prototype, 'send', (given) => given.find((one) => typeof one === 'string' && /[.:]/.test(one)));
require('node:module').syncBuiltinESMExports();
`,
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function watched(name: string): { readonly env: Readonly<Record<string, string>>; readonly seen: () => string } {
  const log = join(folder, name);
  writeFileSync(log, '');
  const env = { NODE_OPTIONS: `--require=${hook}`, WAY_OUT_LOG: log };
  return { env, seen: () => readFileSync(log, 'utf8') };
}

/** Claims to be a crawler from where published ranges do not decide. */
async function crawl({ url, secretKey }: RunningServer): Promise<void> {
  const userAgent = 'Mozilla/5.0 (compatible; Applebot/0.3; +http://www.apple.com/go/applebot)';
  expect((await decide(url, secretKey, { ...newcomer(), ip: '81.2.69.161', user_agent: userAgent })).status).toBe(200);
}

describe('Without updates', () => {
  test('nothing leaves the machine for decisions of every kind, the health of the layers, and the metrics', async () => {
    const { env, seen } = watched('server');
    const server = await startServer({ env: { ...INSTALLED_LOCATIONS, ...env } });
    try {
      for (const event_type of ['login', 'signup', 'payment', 'page_view'])
        for (const ip of ['185.220.101.7', '66.249.66.1', '2a00:1450:4001::1', '81.2.69.160']) {
          const user_agent = ip === '66.249.66.1' ? 'Mozilla/5.0 (compatible; Googlebot/2.1)' : 'Mozilla/5.0';
          const entity_keys = { email: `anna@mailbox-${event_type}.example` };
          const body = { ...newcomer(), ip, event_type, user_agent, entity_keys };
          expect((await decide(server.url, server.secretKey, body)).status).toBe(200);
        }
      await crawl(server);
      expect((await get(server.url, '/readyz')).status).toBe(200);
      expect((await get(server.url, '/metrics')).status).toBe(200);
    } finally {
      await server.stop();
    }
    expect(seen()).toBe('');
  });

  test('look-ups that an operator turned on are seen, and are the only thing', async () => {
    const { env, seen } = watched('look-ups');
    const server = await startServer({ env: { ...INSTALLED_LOCATIONS, ...env, GATEHOUSE_LOOK_UPS: 'on' } });
    try {
      await crawl(server);
      await eventually('the look-up', () => Promise.resolve(seen() === '' ? null : true));
    } finally {
      await server.stop();
    }
    expect(seen()).toBe('reverse 81.2.69.161\n');
  });

  test('an update that an operator asks for is seen, so that the watch is no blind one', async () => {
    const { env, seen } = watched('update');
    const dataDir = join(folder, 'data');
    const { code } = await commandAsProcess(['data', 'update', '--data-dir', dataDir], {
      env: { ...process.env, ...env } as Record<string, string>,
    });
    expect(code).toBe(1);
    expect(seen()).toContain('check.torproject.org');
  });
});
