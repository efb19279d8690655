import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { egressPolicy, judgeAddress } from '../../../src/egress/public-address.ts';
import {
  createGuardedClient,
  type GuardedClient,
  type GuardedClientOptions,
} from '../../../src/egress/guarded-client.ts';
import type { WheelClock } from '../../../src/egress/timer-wheel.ts';
import { dialTcp, type TcpOptions } from '../../../src/egress/dial.ts';
import type { EgressOutcome, EgressRequest } from '../../../src/egress/egress-outcome.ts';
import { type HostileServer, startHostile } from '../../support/hostile-server.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function receiver(): Promise<HostileServer> {
  const server = await startHostile('answers');
  open.push(server);
  return server;
}

interface Recorded {
  readonly guarded: GuardedClient;
  /** Connections that were opened, in order. */
  readonly dialled: TcpOptions[];
}

/** Records the connections that the client opens. `to` supplies the actual socket; by default the connection is refused. */
function recording(options: GuardedClientOptions, to: (dialled: TcpOptions) => Socket = refused): Recorded {
  const dialled: TcpOptions[] = [];
  const guarded = createGuardedClient({
    ...options,
    connect: (one) => {
      dialled.push(one);
      return to(one);
    },
  });
  open.push(guarded);
  return { guarded, dialled };
}

function refused(): Socket {
  const socket = new Socket();
  queueMicrotask(() => socket.destroy(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })));
  return socket;
}

/** Real time and real ticks, ahead by what `aheadMs` returns. */
function skippingClock(aheadMs: () => number): WheelClock {
  return {
    nowMs: () => aheadMs() + performance.now(),
    startTicking: (everyMs, tick) => {
      const timer = setInterval(tick, everyMs);
      return { stop: () => clearInterval(timer), hold: () => {} };
    },
  };
}

const silent = (): Socket => new Socket();

const get = (url: string, more: Partial<EgressRequest> = {}): EgressRequest => ({
  url,
  method: 'GET',
  timeoutMs: 2_000,
  connectMs: 1_000,
  responseBytesMax: 65_536,
  ...more,
});

const errorOf = (outcome: EgressOutcome): string => (outcome.kind === 'failed' ? outcome.error : 'none');

describe('addresses that are dialled', () => {
  test.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://0x7f.1/',
    'http://2130706433/',
    'http://017700000001/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[64:ff9b::10.0.0.1]/',
    'http://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1/',
    'http://0.0.0.0/',
    'http://user@127.0.0.1/',
    'ftp://example.com/',
    'not a url',
    'http://localhost/',
  ])('a request to %s dials nothing', async (url) => {
    const { guarded, dialled } = recording({ lookup: () => Promise.resolve(['::1', '127.0.0.1']) });
    const outcome = await guarded.request(get(url));
    expect([errorOf(outcome), dialled]).toEqual(['blocked_address', []]);
  });

  test('up to four permitted addresses of a name are dialled in order', async () => {
    const addresses = ['10.0.0.1', '8.8.8.8', '::1', '8.8.8.8', '::ffff:8.8.4.4', '2606:4700::1', '1.1.1.1', '9.9.9.9'];
    const { guarded, dialled } = recording({ lookup: () => Promise.resolve(addresses) });
    expect(errorOf(await guarded.request(get('http://mixed.test/')))).toBe('connection_refused');
    expect(dialled.map(({ host }) => host)).toEqual(['8.8.8.8', '8.8.4.4', '2606:4700::1', '1.1.1.1']);
    expect(guarded.stats().blockedAddresses).toBe(2);
  });

  test('a blocked address is never dialled, whatever a resolver returns', async () => {
    const group = fc.oneof(fc.nat(0xffff), fc.constantFrom(0, 0, 0xffff, 0x64, 0xff9b, 0x2001, 0x2002, 0xfe80, 1));
    const v6 = fc
      .array(group, { minLength: 8, maxLength: 8 })
      .map((all) => all.map((one) => one.toString(16)).join(':'));
    const v4 = fc.oneof(
      fc.ipV4(),
      fc.ipV4Extended(),
      fc.constantFrom('127.0.0.1', '10.1.1.1', '169.254.169.254', '8.8.8.8'),
    );
    const address = fc.oneof(
      v4,
      v6,
      fc.ipV6(),
      v4.map((one) => `::ffff:${one}`),
      fc.string(),
    );
    const allow = fc.constantFrom<readonly string[]>([], [], ['10.0.0.0/8'], ['::/0']);
    await fc.assert(
      fc.asyncProperty(fc.array(address, { maxLength: 6 }), allow, async (addresses, cidrs) => {
        const policy = egressPolicy(cidrs);
        const { guarded, dialled } = recording({ allow: cidrs, lookup: () => Promise.resolve(addresses) });
        const outcome = await guarded.request(get('http://any.test/'));
        guarded.close();
        for (const { host, port } of dialled) {
          expect(judgeAddress(host, port, policy)).toMatchObject({ kind: 'permitted', text: host });
        }
        const isAnyPermitted = addresses.some((one) => judgeAddress(one, 80, policy).kind === 'permitted');
        expect(dialled.length > 0).toBe(isAnyPermitted);
        if (!isAnyPermitted) expect(errorOf(outcome)).toBe(addresses.length === 0 ? 'dns_error' : 'blocked_address');
      }),
      { numRuns: 300 },
    );
  });

  test('addresses are checked again for each connection, so a name that changes to loopback is not followed', async () => {
    const server = await receiver();
    const answers = [['8.8.8.8'], ['127.0.0.1'], ['127.0.0.1']];
    let aheadMs = 0;
    const { guarded, dialled } = recording({
      lookup: () => Promise.resolve(answers.shift() ?? []),
      clock: skippingClock(() => aheadMs),
    });
    expect(errorOf(await guarded.request(get(`http://rebinds.test:${server.port}/`)))).toBe('connection_refused');
    aheadMs = 31_000;
    expect(errorOf(await guarded.request(get(`http://rebinds.test:${server.port}/`)))).toBe('blocked_address');
    expect(dialled.map(({ host }) => host)).toEqual(['8.8.8.8']);
    expect(server.connections()).toBe(0);
  });

  test('a connection to a blocked peer is closed at once, before any byte is sent', async () => {
    const server = await receiver();
    // A transparent proxy or a firewall rule can redirect a connection away from the dialled address.
    const { guarded } = recording({ lookup: () => Promise.resolve(['8.8.8.8']) }, () =>
      connect(server.port, '127.0.0.1'),
    );
    for (const scheme of ['http', 'https']) {
      const outcome = await guarded.request(get(`${scheme}://redirected.test:${server.port}/`));
      expect(outcome).toMatchObject({ error: 'blocked_address', detail: expect.stringContaining('peer') });
    }
    await expect.poll(() => server.open()).toBe(0);
    expect(server.requests()).toEqual([]);
    expect(guarded.stats()).toMatchObject({ blockedAddresses: 2, sockets: 0, connectionsOpened: 0 });
  });
});

describe('dialling', () => {
  test('dialling continues with the next address when one refuses', async () => {
    const server = await receiver();
    const { guarded } = recording(
      { allow: ['127.0.0.0/8'], lookup: () => Promise.resolve(['127.0.0.9', '127.0.0.1']) },
      dialTcp,
    );
    const outcome = await guarded.request(get(`http://two.test:${server.port}/`));
    expect(outcome).toMatchObject({ status: 200, remoteAddress: '127.0.0.1' });
  });

  test('dialling gives an address that does not answer its share of the connect timeout, and continues with the next', async () => {
    const server = await receiver();
    let aheadMs = 0;
    const { guarded, dialled } = recording(
      {
        allow: ['127.0.0.0/8'],
        lookup: () => Promise.resolve(['8.8.8.8', '127.0.0.1']),
        clock: skippingClock(() => aheadMs),
      },
      (one) => {
        if (one.host !== '8.8.8.8') return dialTcp(one);
        setImmediate(() => (aheadMs = 10_001));
        return silent();
      },
    );
    const outcome = await guarded.request(
      get(`http://two.test:${server.port}/`, { connectMs: 20_000, timeoutMs: 60_000 }),
    );
    expect(outcome).toMatchObject({ status: 200, remoteAddress: '127.0.0.1' });
    expect(outcome.durationMs).toBeGreaterThanOrEqual(10_000);
    expect(outcome.durationMs).toBeLessThan(20_000);
    expect(dialled).toHaveLength(2);
  });

  test('dialling fails with connect_timeout when no address answers, long before the timeout of the whole request', async () => {
    const { guarded } = recording({ lookup: () => Promise.resolve(['8.8.8.8', '8.8.4.4']) }, silent);
    const outcome = await guarded.request(get('http://silent.test/', { connectMs: 200, timeoutMs: 60_000 }));
    expect(errorOf(outcome)).toBe('connect_timeout');
    expect(outcome.durationMs).toBeLessThan(20_000);
    expect(guarded.stats().sockets).toBe(0);
  });

  test('a failed dial reports that this machine lacked resources, unless another address was reached', async () => {
    const failing = (code: string): Socket => {
      const socket = new Socket();
      queueMicrotask(() => socket.destroy(Object.assign(new Error(code), { code })));
      return socket;
    };
    const lookup = (): Promise<readonly string[]> => Promise.resolve(['8.8.8.8', '127.0.0.1']);
    const lacking = (one: TcpOptions): Socket => (one.host === '8.8.8.8' ? failing('EMFILE') : refused());
    const none = recording({ allow: ['127.0.0.0/8'], lookup }, lacking);
    expect(await none.guarded.request(get('http://two.test/'))).toMatchObject({
      error: 'connection_refused',
      lack: 'EMFILE',
    });
    const server = await receiver();
    const one = recording({ allow: ['127.0.0.0/8'], lookup }, (dialled) =>
      dialled.host === '8.8.8.8' ? failing('EMFILE') : dialTcp(dialled),
    );
    expect(await one.guarded.request(get(`http://two.test:${server.port}/`))).toMatchObject({ status: 200 });
    const noNames = recording({
      lookup: () => Promise.reject(Object.assign(new Error('no descriptor'), { code: 'EMFILE' })),
    });
    expect(await noNames.guarded.request(get('http://two.test/'))).toMatchObject({
      error: 'dns_error',
      lack: 'EMFILE',
    });
    const usual = recording({ lookup });
    expect(await usual.guarded.request(get('http://two.test/'))).not.toHaveProperty('lack');
  });

  test('dialling ends with the request, whose timeout may be shorter', async () => {
    const sockets: Socket[] = [];
    const { guarded } = recording({ lookup: () => Promise.resolve(['8.8.8.8']) }, () => {
      const socket = silent();
      sockets.push(socket);
      return socket;
    });
    expect(errorOf(await guarded.request(get('http://silent.test/', { connectMs: 5_000, timeoutMs: 100 })))).toBe(
      'timeout',
    );
    await expect.poll(() => guarded.stats().sockets).toBe(0);
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true]);
  });

  test('a request fails with dns_error when the resolver hangs, and literal addresses are still reachable meanwhile', async () => {
    const server = await receiver();
    const { guarded } = recording({ allow: ['127.0.0.0/8'], lookup: () => new Promise(() => {}) }, dialTcp);
    const hanging = Array.from({ length: 40 }, (_, i) =>
      guarded.request(get(`http://h${i}.test/`, { connectMs: 200, timeoutMs: 60_000 })),
    );
    expect(await guarded.request(get(server.url))).toMatchObject({ status: 200 });
    const outcomes = await Promise.all(hanging);
    expect(new Set(outcomes.map(errorOf))).toEqual(new Set(['dns_error']));
    for (const { durationMs } of outcomes) expect(durationMs).toBeLessThan(20_000);
    await expect.poll(() => guarded.stats().sockets).toBeLessThanOrEqual(1);
  });

  test('a request fails with dns_error when its name does not exist', async () => {
    const lookup = (): Promise<readonly string[]> =>
      Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }));
    const { guarded } = recording({ lookup });
    expect(errorOf(await guarded.request(get('http://nowhere.test/')))).toBe('dns_error');
  });

  test('the default resolver resolves localhost, and the client does not connect to it unless it is allowed', async () => {
    const server = await receiver();
    const guarded = createGuardedClient();
    open.push(guarded);
    expect(errorOf(await guarded.request(get(`http://localhost:${server.port}/`)))).toBe('blocked_address');
    const allowed = createGuardedClient({ allow: ['127.0.0.0/8'] });
    open.push(allowed);
    expect(await allowed.request(get(`http://localhost:${server.port}/`))).toMatchObject({ status: 200 });
    expect(server.connections()).toBe(1);
  });

  test('a socket that fails to connect is destroyed, so that its file descriptor is not used again', async () => {
    const failed = refused();
    const closed = once(failed, 'close').catch(() => {});
    const { guarded } = recording({ lookup: () => Promise.resolve(['8.8.8.8']) }, () => failed);
    await guarded.request(get('http://refuses.test/'));
    await closed;
    expect(failed.destroyed).toBe(true);
  });
});
