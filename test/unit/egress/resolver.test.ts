import { describe, expect, test } from 'vitest';
import { type Lookup, type Resolved, Resolver } from '../../../src/egress/resolver.ts';
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
  /** Resolves, with a signal that never aborts unless told. */
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

describe('the resolver', () => {
  test('asks once for a name that many want', async () => {
    const { asked, ask, resolver } = setUp();
    const answers = Promise.all(Array.from({ length: 20 }, () => ask('a.test')));
    expect(asked).toHaveLength(1);
    asked[0]?.found(['192.0.2.1']);
    expect(new Set((await answers).map((one) => JSON.stringify(one))).size).toBe(1);
    expect(resolver.pending).toBe(0);
  });

  test('keeps addresses for 30 s', async () => {
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

  test('keeps for 5 s that a name is not there', async () => {
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

  test('runs two look-ups at once, the rest in order as places come free', async () => {
    const { asked, ask } = setUp();
    const answers = ['a', 'b', 'c', 'd'].map((name) => ask(`${name}.test`));
    expect(asked.map(({ host }) => host)).toEqual(['a.test', 'b.test']);
    asked[0]?.found(['192.0.2.1']);
    await answers[0];
    await turn();
    expect(asked.map(({ host }) => host)).toEqual(['a.test', 'b.test', 'c.test']);
  });

  test('does not begin a look-up that nobody waits for any more', async () => {
    const { asked, ask, resolver } = setUp();
    void ask('a.test');
    void ask('b.test');
    const gone = new AbortController();
    const answer = ask('c.test', gone.signal);
    gone.abort();
    expect((await answer).kind).toBe('failed');
    expect(resolver.pending).toBe(2);
    asked[0]?.found(['192.0.2.1']);
    await turn();
    expect(asked).toHaveLength(2);
  });

  test('takes addresses up to 5 min old while asking again is slow, and the new ones after that', async () => {
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

  test('does not take older ones', async () => {
    const setup = setUp();
    await known(setup, 'a.test', ['192.0.2.1']);
    setup.clock.pass(301_000);
    const limit = new AbortController();
    const late = setup.ask('a.test', limit.signal);
    setup.clock.pass(2_000);
    limit.abort();
    expect((await late).kind).toBe('failed');
  });

  test('keeps known addresses through a passing failure, not through the end of the name', async () => {
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

  test('gives the place of a look-up that never ends to another after 30 s', async () => {
    const { asked, ask, clock } = setUp();
    const hanging = [ask('a.test'), ask('b.test')];
    const waiting = ask('c.test');
    clock.pass(30_100);
    expect((await Promise.all(hanging)).map(({ kind }) => kind)).toEqual(['failed', 'failed']);
    await turn();
    asked[2]?.found(['192.0.2.3']);
    expect(await waiting).toMatchObject({ kind: 'found' });
  });

  test('takes an answer without addresses for a failure, and the first of very many', async () => {
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
