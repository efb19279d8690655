import { describe, expect, test } from 'vitest';
import { domainOf, LookupTurns } from '../../../src/egress/lookup-turns.ts';

const always = (): AbortSignal => new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Setup {
  /** Look-ups that were started, in order. */
  readonly begun: string[];
  readonly want: (host: string) => Promise<string>;
  /** Ends the look-up of the name. */
  readonly end: (host: string) => Promise<void>;
}

function setUp(max: number, domainMax: number): Setup {
  const turns = new LookupTurns(max, domainMax);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    want: (host) =>
      turns.run(host, always(), () => {
        begun.push(host);
        return new Promise((done) => void ends.set(host, () => done(host)));
      }),
    end: async (host) => {
      ends.get(host)?.();
      await turn();
    },
  };
}

describe('LookupTurns', () => {
  test('look-ups run up to the limit at once, and the rest start in order as slots become free', async () => {
    const { begun, want, end } = setUp(2, 2);
    for (const host of ['a.one.test', 'b.two.test', 'c.three.test', 'd.four.test']) void want(host);
    await turn();
    expect(begun).toEqual(['a.one.test', 'b.two.test']);
    await end('b.two.test');
    expect(begun).toEqual(['a.one.test', 'b.two.test', 'c.three.test']);
  });

  test('look-ups alternate between domains, however many one domain has', async () => {
    const { begun, want, end } = setUp(2, 2);
    for (let i = 0; i < 50; i++) void want(`h${i}.bad.test`);
    for (const host of ['good.test', 'x.fine.test']) void want(host);
    await turn();
    expect(begun).toEqual(['h0.bad.test', 'h1.bad.test']);
    for (const host of ['h0.bad.test', 'h1.bad.test']) await end(host);
    expect(begun.slice(2, 5)).toContain('good.test');
    for (const host of begun) await end(host);
    expect(begun).toContain('x.fine.test');
  });

  test('hanging look-ups of one domain leave slots for other domains', async () => {
    const { begun, want } = setUp(4, 3);
    for (let i = 0; i < 50; i++) void want(`h${i}.bad.test`);
    void want('good.test');
    await turn();
    expect(begun).toEqual(['h0.bad.test', 'h1.bad.test', 'h2.bad.test', 'good.test']);
  });

  test('a cancelled look-up is skipped, and a failed look-up frees its slot', async () => {
    const turns = new LookupTurns(1, 1);
    const first = turns.run('a.test', always(), () => turn().then(() => Promise.reject(new Error('failed'))));
    const gone = new AbortController();
    const second = turns.run('b.test', gone.signal, () => Promise.resolve('never'));
    const third = turns.run('c.test', always(), () => Promise.resolve('third'));
    gone.abort();
    await expect(second).rejects.toMatchObject({ code: 'ECANCELLED' });
    await expect(first).rejects.toThrow('failed');
    expect(await third).toBe('third');
    await expect(turns.run('d.test', gone.signal, () => Promise.resolve(''))).rejects.toMatchObject({
      code: 'ECANCELLED',
    });
  });
});

test.each([
  ['example.com', 'example.com'],
  ['a.b.example.com', 'example.com'],
  ['a.example.co.uk', 'example.co.uk'],
  ['a.b.example.com.', 'example.com'],
  ['receiver', 'receiver'],
])('the domain of %s is %s', (host, domain) => expect(domainOf(host)).toBe(domain));
