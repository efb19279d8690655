import { describe, expect, test } from 'vitest';
import { SourceFailure } from '../../../../src/extract/base/connector.ts';
import { BodyCache, type CachedBody } from '../../../../src/extract/fetch/body-cache.ts';
import { RobotsCache, type RobotsAnswer } from '../../../../src/extract/fetch/robots-cache.ts';
import { NO_RULES } from '../../../../src/extract/fetch/robots-rules.ts';

const body = (bytes: number, more: Partial<CachedBody> = {}): CachedBody => ({
  etag: '"e"',
  lastModified: null,
  contentType: '',
  headers: {},
  body: Buffer.alloc(bytes),
  ...more,
});

describe('BodyCache', () => {
  test('the body cache evicts the least recently used entry, and counts its bytes', () => {
    const cache = new BodyCache(10_000);
    for (const key of ['a', 'b', 'c']) cache.keep(key, body(1_000));
    cache.find('a');
    cache.keep('d', body(1_000));
    expect(['a', 'b', 'c', 'd'].map((key) => cache.find(key) !== null)).toEqual([true, false, true, true]);
    expect(cache.bytes).toBeLessThanOrEqual(10_000);
    for (const key of ['a', 'c', 'd']) cache.drop(key);
    expect(cache.bytes).toBe(0);
  });

  test('the body cache stores no body without validator or too large, and removes an older one with the same key', () => {
    const cache = new BodyCache(10_000);
    cache.keep('a', body(1));
    cache.keep('a', body(1, { etag: null }));
    expect(cache.find('a')).toBeNull();
    cache.keep('b', body(1));
    cache.keep('b', body(20_000));
    expect([cache.find('b'), cache.bytes]).toEqual([null, 0]);
  });
});

describe('RobotsCache', () => {
  const rules: RobotsAnswer = { kind: 'rules', rules: { ...NO_RULES, bytes: 500_000 } };
  const unknown: RobotsAnswer = { kind: 'unknown', failure: new SourceFailure('robots_disallowed', '', true) };

  test('robots.txt is fetched again after a day, and sooner after a fetch without a response', async () => {
    let now = 0;
    let loads = 0;
    const cache = new RobotsCache();
    const find = (answer: RobotsAnswer): Promise<RobotsAnswer> =>
      cache.find(
        answer.kind,
        () => now,
        () => {
          loads++;
          return Promise.resolve(answer);
        },
      );
    for (const [atMs, count] of [
      [0, 2],
      [14_999, 2],
      [15_000, 3],
      [86_399_999, 4],
      [86_400_000, 5],
    ] as const) {
      now = atMs;
      await find(rules);
      await find(unknown);
      expect([atMs, loads]).toEqual([atMs, count]);
    }
  });

  test('concurrent callers share a fetch of robots.txt, but not its cancellation', async () => {
    const cache = new RobotsCache();
    let loads = 0;
    const load = (): Promise<RobotsAnswer> => {
      loads++;
      return Promise.resolve(rules);
    };
    const find = (by: () => Promise<RobotsAnswer>): Promise<RobotsAnswer> => cache.find('a', () => 0, by);
    const stopped = find(() => Promise.reject(new Error('stopped')));
    const others = [find(load), find(load), find(load)];
    await expect(stopped).rejects.toThrow('stopped');
    expect(await Promise.all(others)).toEqual([rules, rules, rules]);
    expect(loads).toBe(1);
  });

  test('the robots.txt cache is limited by bytes', async () => {
    const cache = new RobotsCache();
    let loads = 0;
    const load = (): Promise<RobotsAnswer> => {
      loads++;
      return Promise.resolve(rules);
    };
    for (let i = 0; i < 20; i++) await cache.find(`o${i}`, () => 0, load);
    await cache.find('o19', () => 0, load);
    expect(loads).toBe(20);
    await cache.find('o0', () => 0, load);
    expect(loads).toBe(21);
  });
});
