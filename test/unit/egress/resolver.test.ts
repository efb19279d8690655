import { describe, expect, test } from 'vitest';
import type { Lookup } from '../../../src/egress/name-lookup.ts';
import { type Resolved, Resolver } from '../../../src/egress/resolver.ts';
import { TimerWheel } from '../../../src/egress/timer-wheel.ts';
import { virtualClock, type VirtualClock } from './virtual-clock.ts';

interface Asked {
  readonly host: string;
  found(addresses: readonly string[]): void;
  failed(code: string): void;
}

interface Setup {
  readonly clock: VirtualClock;
  readonly resolver: Resolver;
  readonly asked: Asked[];
  /** Resolves a name. The default signal never aborts. */
  readonly ask: (host: string, signal?: AbortSignal) => Promise<Resolved>;
}

function setUp(): Setup {
  const clock = virtualClock();
  const asked: Asked[] = [];
  const lookup: Lookup = (host) =>
    new Promise((resolve, reject) => {
      const failed = (code: string): void => reject(Object.assign(new Error(code), { code }));
      asked.push({ host, found: resolve, failed });
    });
  const resolver = new Resolver(new TimerWheel(clock), lookup);
  const ask = (host: string, signal = new AbortController().signal): Promise<Resolved> =>
    resolver.resolve(host, signal);
  return { clock, resolver, asked, ask };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function known({ asked, ask }: Setup, host: string, addresses: readonly string[]): Promise<void> {
  const answer = ask(host);
  asked.at(-1)?.found(addresses);
  await answer;
}

describe('Resolver', () => {
  test('concurrent requests for one name share one look-up', async () => {
    const { asked, ask, resolver } = setUp();
    const answers = Promise.all(Array.from({ length: 20 }, () => ask('a.test')));
    expect(asked).toHaveLength(1);
    asked[0]?.found(['192.0.2.1']);
    expect(new Set((await answers).map((one) => JSON.stringify(one))).size).toBe(1);
    expect(resolver.pending).toBe(0);
  });

  test('addresses are kept for 30 s', async () => {
    const setup = setUp();
    await known(setup, 'a.test', ['192.0.2.1']);
    setup.clock.pass(29_900);
    expect(await setup.ask('a.test')).toEqual({ kind: 'found', addresses: ['192.0.2.1'] });
    expect(setup.asked).toHaveLength(1);
    setup.clock.pass(200);
    const later = setup.ask('a.test');
    setup.asked[1]?.found(['192.0.2.2']);
    expect(await later).toEqual({ kind: 'found', addresses: ['192.0.2.2'] });
  });

  test('the result that a name does not exist is kept for 5 s', async () => {
    const { asked, ask, clock } = setUp();
    const first = ask('gone.test');
    asked[0]?.failed('ENOTFOUND');
    expect(await first).toMatchObject({ kind: 'failed', detail: expect.stringContaining('ENOTFOUND') });
    clock.pass(4_900);
    expect((await ask('gone.test')).kind).toBe('failed');
    expect(asked).toHaveLength(1);
    clock.pass(200);
    void ask('gone.test');
    expect(asked).toHaveLength(2);
  });

  test('a look-up is cancelled when nobody waits for it any more, and started again for later callers', async () => {
    const clock = virtualClock();
    const signals: AbortSignal[] = [];
    // Behaves like a look-up that waits for its turn.
    const lookup: Lookup = (_host, signal) => {
      signals.push(signal);
      return new Promise((_resolve, reject) => {
        const cancel = (): void => reject(Object.assign(new Error('cancelled'), { code: 'ECANCELLED' }));
        signal.addEventListener('abort', cancel);
      });
    };
    const resolver = new Resolver(new TimerWheel(clock), lookup);
    const [gone, gone2] = [new AbortController(), new AbortController()];
    const answers = [resolver.resolve('a.test', gone.signal), resolver.resolve('a.test', gone2.signal)];
    gone.abort();
    expect(signals[0]?.aborted).toBe(false);
    gone2.abort();
    expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(['failed', 'failed']);
    expect(signals[0]?.aborted).toBe(true);
    const last = new AbortController();
    const later = resolver.resolve('a.test', last.signal);
    await turn();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    last.abort();
    expect((await later).kind).toBe('failed');
    await turn();
    expect(resolver.pending).toBe(0);
  });

  test('addresses up to 5 min old are used while a new look-up is slow, and the new ones after that', async () => {
    const setup = setUp();
    await known(setup, 'a.test', ['192.0.2.1']);
    setup.clock.pass(240_000);
    const slow = setup.ask('a.test');
    setup.clock.pass(200);
    expect(await slow).toEqual({ kind: 'found', addresses: ['192.0.2.1'] });
    setup.asked[1]?.found(['192.0.2.9']);
    await turn();
    expect(await setup.ask('a.test')).toEqual({ kind: 'found', addresses: ['192.0.2.9'] });
    expect(setup.asked).toHaveLength(2);
  });

  test('addresses up to a day old are used after a second if a new look-up hangs, and older ones are not', async () => {
    const HOUR_MS = 3_600_000;
    const setup = setUp();
    await known(setup, 'a.test', ['192.0.2.1']);
    setup.clock.jump(23 * HOUR_MS);
    let answer: Resolved | null = null;
    void setup.ask('a.test').then((one) => (answer = one));
    setup.clock.pass(900);
    await turn();
    expect(answer).toBe(null);
    setup.clock.pass(200);
    await turn();
    expect(answer).toEqual({ kind: 'found', addresses: ['192.0.2.1'] });
    setup.asked.at(-1)?.failed('ETIMEOUT');
    await turn();
    setup.clock.jump(2 * HOUR_MS);
    const limit = new AbortController();
    const late = setup.ask('a.test', limit.signal);
    setup.clock.pass(2_000);
    limit.abort();
    expect((await late).kind).toBe('failed');
  });

  test('a name that times out is retried with back-off, at last once a minute, and as usual once it works again', async () => {
    const { asked, ask, clock } = setUp();
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      const answer = ask('a.test');
      asked.at(-1)?.failed(i % 2 === 0 ? 'ETIMEOUT' : 'EAI_AGAIN');
      expect((await answer).kind).toBe('failed');
      const [count, sinceMs] = [asked.length, clock.nowMs()];
      while (asked.length === count) {
        clock.pass(500);
        void ask('a.test');
      }
      waits.push(clock.nowMs() - sinceMs);
    }
    expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    const back = ask('a.test');
    asked.at(-1)?.found(['192.0.2.1']);
    expect((await back).kind).toBe('found');
    clock.pass(30_000);
    const refresh = ask('a.test');
    asked.at(-1)?.failed('ETIMEOUT');
    // Meanwhile the known addresses are used.
    expect((await refresh).kind).toBe('found');
    clock.pass(1_900);
    const count = asked.length;
    expect((await ask('a.test')).kind).toBe('found');
    expect(asked).toHaveLength(count);
    clock.pass(200);
    void ask('a.test');
    expect(asked).toHaveLength(count + 1);
  });

  test('a look-up that failed because this machine lacked resources is reported as such and retried at once', async () => {
    const { asked, ask } = setUp();
    const first = ask('a.test');
    asked[0]?.failed('EMFILE');
    expect(await first).toMatchObject({ kind: 'failed', lack: 'EMFILE' });
    void ask('a.test');
    expect(asked).toHaveLength(2);
  });

  test('known addresses survive a temporary failure, but not the answer that the name does not exist', async () => {
    for (const [code, kind] of [
      ['EAI_AGAIN', 'found'],
      ['ENOTFOUND', 'failed'],
    ] as const) {
      const setup = setUp();
      await known(setup, 'a.test', ['192.0.2.1']);
      setup.clock.pass(60_000);
      const again = setup.ask('a.test');
      setup.asked[1]?.failed(code);
      expect([code, (await again).kind]).toEqual([code, kind]);
      expect([code, (await setup.ask('a.test')).kind]).toEqual([code, kind]);
      expect(setup.asked).toHaveLength(2);
    }
  });

  test('a look-up that never ends is abandoned after 30 s', async () => {
    const { asked, ask, clock, resolver } = setUp();
    const hanging = ask('a.test');
    clock.pass(30_100);
    expect((await hanging).kind).toBe('failed');
    expect(resolver.pending).toBe(0);
    clock.pass(2_000);
    const again = ask('a.test');
    asked[1]?.found(['192.0.2.3']);
    expect(await again).toMatchObject({ kind: 'found' });
  });

  test('an answer without addresses is a failure, and of very many addresses only the first are used', async () => {
    const { asked, ask } = setUp();
    const none = ask('a.test');
    asked[0]?.found([]);
    expect((await none).kind).toBe('failed');
    const many = ask('b.test');
    asked[1]?.found(Array.from({ length: 1000 }, (_, i) => `192.0.2.${i % 250}`));
    const found = await many;
    expect(found.kind === 'found' ? found.addresses.length : 0).toBe(16);
  });
});
