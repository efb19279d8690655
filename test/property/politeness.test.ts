import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CRAWL_DELAY_MS_MAX, PAUSE_MS_MAX, DomainClock, type Ticket } from '../../src/extract/engine/domain-limits.ts';
import { timesInFull } from '../support/long.ts';

const DOMAINS = ['a.example', 'b.example', 'c.example'] as const;
const JOBS = ['ext_1', 'ext_2', 'ext_3', 'ext_4'] as const;

const step = fc.record({
  waitMs: fc.nat(400),
  domain: fc.constantFrom(...DOMAINS),
  job: fc.constantFrom(...JOBS),
  act: fc.oneof(
    { weight: 8, arbitrary: fc.constant('ask') },
    { weight: 1, arbitrary: fc.constant('pause') },
    { weight: 1, arbitrary: fc.constant('withdraw') },
  ),
  takesMs: fc.nat(1_500),
  pauseMs: fc.nat(2_000),
});
const settings = fc.record({ gapMs: fc.constantFrom(0, 1, 250, 1_000), concurrency: fc.integer({ min: 1, max: 3 }) });

interface Asked {
  readonly domain: string;
  readonly job: string;
  readonly takesMs: number;
}

interface Start extends Asked {
  readonly ticket: Ticket;
  readonly atMs: number;
}

describe('the rate limiter of domains', () => {
  test('The rate limiter keeps the gap, the pauses and the concurrency of each domain, and finally starts every request', () => {
    fc.assert(
      fc.property(settings, fc.array(step, { minLength: 1, maxLength: 60 }), ({ gapMs, concurrency }, steps) => {
        const clock = new DomainClock({ gapMs, concurrency });
        const asked = new Map<Ticket, Asked>();
        const withdrawn = new Set<Ticket>();
        const starts: Start[] = [];
        const ends: { readonly atMs: number; readonly ticket: Ticket; readonly domain: string }[] = [];
        const pausedUntil = new Map<string, number>();
        const running = new Map<string, number>();
        let now = 0;

        const settle = (): void => {
          for (const ticket of clock.due(now)) {
            const wish = asked.get(ticket);
            if (wish === undefined) throw new Error('an unknown ticket');
            expect(withdrawn.has(ticket)).toBe(false);
            expect(now).toBeGreaterThanOrEqual(pausedUntil.get(wish.domain) ?? 0);
            starts.push({ ...wish, ticket, atMs: now });
            const count = (running.get(wish.domain) ?? 0) + 1;
            running.set(wish.domain, count);
            expect(count).toBeLessThanOrEqual(concurrency);
            ends.push({ atMs: now + wish.takesMs, ticket, domain: wish.domain });
          }
        };
        /** Advances to `toMs` through all events on the way, or until there are no more. */
        const runTo = (toMs: number): void => {
          for (;;) {
            settle();
            ends.sort((a, b) => a.atMs - b.atMs);
            const next = Math.min(ends[0]?.atMs ?? Infinity, clock.nextDueMs() ?? Infinity);
            if (next > toMs || next === Infinity) break;
            now = Math.max(now, next);
            while (ends[0] !== undefined && ends[0].atMs <= now) {
              const end = ends.shift();
              if (end === undefined) break;
              running.set(end.domain, (running.get(end.domain) ?? 0) - 1);
              clock.release(end.ticket);
              clock.release(end.ticket);
            }
          }
          if (toMs !== Infinity) now = toMs;
        };

        for (const { waitMs, domain, job, act, takesMs, pauseMs } of steps) {
          runTo(now + waitMs);
          if (act === 'pause') {
            clock.report(domain, { retryAfterMs: pauseMs }, now);
            pausedUntil.set(domain, Math.max(pausedUntil.get(domain) ?? 0, now + pauseMs));
          } else if (act === 'withdraw') {
            const ticket = [...asked.keys()].find(
              (ticket) => !withdrawn.has(ticket) && !starts.some((start) => start.ticket === ticket),
            );
            if (ticket !== undefined) {
              clock.release(ticket);
              withdrawn.add(ticket);
            }
          } else asked.set(clock.acquire(domain, job, now), { domain, job, takesMs });
        }
        runTo(Infinity);

        expect(starts.map(({ ticket }) => ticket).sort((a, b) => a - b)).toEqual(
          [...asked.keys()].filter((ticket) => !withdrawn.has(ticket)),
        );
        for (const domain of DOMAINS) {
          const own = starts.filter((start) => start.domain === domain);
          for (const [index, start] of own.entries())
            if (index > 0) expect(start.atMs - (own[index - 1]?.atMs ?? 0)).toBeGreaterThanOrEqual(gapMs);
          for (const job of JOBS) {
            const tickets = own.filter((start) => start.job === job).map(({ ticket }) => ticket);
            expect(tickets).toEqual([...tickets].sort((a, b) => a - b));
          }
        }
      }),
      { numRuns: timesInFull(500) },
    );
  });

  test('No job starves: its next request waits for at most one request of each other job', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 8 }), (counts) => {
        const clock = new DomainClock({ gapMs: 100, concurrency: 1 });
        const owner = new Map<Ticket, number>();
        for (const [job, count] of counts.entries())
          for (let i = 0; i < count; i++) owner.set(clock.acquire('a.example', `ext_${job}`, 0), job);
        const order: number[] = [];
        for (let now = 0; order.length < owner.size; now += 100)
          for (const ticket of clock.due(now)) {
            order.push(owner.get(ticket) ?? -1);
            clock.release(ticket);
          }
        for (const [job, count] of counts.entries()) {
          const places = order.flatMap((who, at) => (who === job ? [at] : []));
          expect(places).toHaveLength(count);
          for (const [index, at] of places.entries())
            expect(at - (places[index - 1] ?? -1)).toBeLessThanOrEqual(counts.length);
        }
      }),
      { numRuns: timesInFull(200) },
    );
  });

  test('The rate limiter forgets idle domains, so that its size is bounded', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 500 }), (gapMs) => {
        const clock = new DomainClock({ gapMs, concurrency: 2 });
        const tickets: unknown[] = [];
        const due: unknown[] = [];
        for (let now = 0; now < 5_000; now++) {
          const ticket = clock.acquire(`d${now}.example`, 'ext_1', now);
          tickets.push([ticket]);
          due.push(clock.due(now));
          clock.release(ticket);
        }
        expect(due).toEqual(tickets);
        expect(clock.domains).toBeLessThanOrEqual(2 * Math.max(256, 2 * gapMs));
      }),
      { numRuns: timesInFull(10) },
    );
  });
});

describe('what a source asks for', () => {
  const settingsOf = { gapMs: 250, concurrency: 2 };

  test('A Crawl-delay becomes the gap when it is longer, up to 30 s', () => {
    for (const [delay, gap] of [
      [100, 250],
      [2_000, 2_000],
      [86_400_000, CRAWL_DELAY_MS_MAX],
    ] as const) {
      const clock = new DomainClock(settingsOf);
      clock.report('a.example', { crawlDelayMs: delay }, 0);
      for (let i = 0; i < 2; i++) clock.acquire('a.example', 'ext_1', 0);
      expect(clock.due(0)).toHaveLength(1);
      expect(clock.nextDueMs()).toBe(gap);
      expect(clock.due(gap - 1)).toEqual([]);
      expect(clock.due(gap)).toHaveLength(1);
    }
  });

  test('A Retry-After pauses all requests of the domain, for at most one hour', () => {
    const clock = new DomainClock(settingsOf);
    clock.report('a.example', { retryAfterMs: 1e12 }, 1_000);
    clock.report('a.example', { retryAfterMs: 1 }, 1_000);
    const ticket = clock.acquire('a.example', 'ext_2', 1_000);
    const other = clock.acquire('b.example', 'ext_2', 1_000);
    expect(clock.due(1_000)).toEqual([other]);
    expect(clock.nextDueMs()).toBe(1_000 + PAUSE_MS_MAX);
    expect([clock.domains, clock.paused(1_000), clock.paused(1_000 + PAUSE_MS_MAX)]).toEqual([2, 1, 0]);
    expect(clock.due(1_000 + PAUSE_MS_MAX)).toEqual([ticket]);
  });

  test('A Crawl-delay still applies to the request after the one for robots.txt, however many domains come between', () => {
    const clock = new DomainClock(settingsOf);
    clock.report('a.example', { crawlDelayMs: 5_000 }, 0);
    for (let i = 0; i < 2_000; i++) clock.release(clock.acquire(`d${i}.example`, 'ext_1', 1_000));
    for (let i = 0; i < 2; i++) clock.acquire('a.example', 'ext_1', 1_000);
    expect(clock.due(1_000)).toHaveLength(1);
    expect(clock.nextDueMs()).toBe(6_000);
  });
});
