import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allowanceAfter, Slots, standingAfter, usualMsAfter, type Standing } from '../../../src/webhooks/slots.ts';
import { ATTEMPT_LATE_MS, ENDPOINT_ATTEMPTS_MAX } from '../../../src/kernel/delivery-limits.ts';

const SLOTS = 512;
/** This many endpoints never fill all slots. */
const ENDPOINTS = SLOTS / 4 - 1;

interface Endpoint {
  readonly taken: Standing[];
  standing: Standing;
}

function endpoints(count: number, standing: Standing): Endpoint[] {
  return Array.from({ length: count }, () => ({ taken: [], standing }));
}

function begin(slots: Slots, { taken, standing }: Endpoint): boolean {
  const isAllowed =
    taken.length < ENDPOINT_ATTEMPTS_MAX && slots.hasRoom(standing) && slots.hasShare(standing, taken.length);
  if (isAllowed) {
    slots.take(standing);
    taken.push(standing);
  }
  return isAllowed;
}

function turnLate(slots: Slots, endpoint: Endpoint): void {
  endpoint.standing = 'slow';
  for (const [at, standing] of endpoint.taken.entries()) {
    if (standing !== 'slow') slots.slowDown(standing);
    endpoint.taken[at] = 'slow';
  }
}

/** Starts attempts round-robin until no endpoint gets another slot. */
function fill(slots: Slots, all: readonly Endpoint[]): void {
  while (all.map((one) => begin(slots, one)).some(Boolean));
}

describe('the concurrency limiter', () => {
  test('Fewer endpoints than a quarter of the slots never take all slots, whatever their attempts do', () => {
    const step = fc.record({
      which: fc.nat(ENDPOINTS - 1),
      what: fc.constantFrom('fill', 'begin', 'begin', 'late', 'end', 'prove', 'doubt'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const slots = new Slots(SLOTS);
        const all = endpoints(ENDPOINTS, 'proven');
        for (const { which, what } of steps) {
          const one = all[which];
          if (one === undefined) continue;
          if (what === 'fill') fill(slots, all.slice(which));
          else if (what === 'begin') begin(slots, one);
          else if (what === 'late') turnLate(slots, one);
          else if (what === 'end') for (const standing of one.taken.splice(-1)) slots.give(standing);
          else one.standing = what === 'prove' ? 'proven' : 'unproven';
          expect(slots.hasRoom('proven')).toBe(true);
        }
      }),
      { numRuns: 50, seed: 11 },
    );
  });

  test('Slow endpoints start attempts in at most half of the slots, and in none while more attempts are slow', () => {
    const slots = new Slots(SLOTS);
    const slow = endpoints(300, 'slow');
    fill(slots, slow);
    expect(slots.taken).toBe(SLOTS / 2);
    const turned = endpoints(40, 'proven');
    fill(slots, turned);
    const inAll = slots.taken;
    expect(inAll).toBeGreaterThan(SLOTS / 2 + 40);
    for (const one of turned) turnLate(slots, one);
    // Attempts of endpoints that were slow from the start have ended; the others still hold slots, which count for the slow half.
    for (const one of slow.slice(0, 50)) for (const standing of one.taken.splice(0)) slots.give(standing);
    expect(slots.taken).toBeGreaterThan(SLOTS / 2);
    expect([slots.hasRoom('slow'), slots.hasRoom('proven')]).toEqual([false, true]);
  });

  test('A single endpoint gets its full allowance if no other needs slots', () => {
    for (const standing of ['proven', 'unproven', 'slow'] as const) {
      const slots = new Slots(SLOTS);
      fill(slots, endpoints(1, standing));
      expect(slots.taken).toBe(ENDPOINT_ATTEMPTS_MAX);
    }
  });
});

describe('the class of an endpoint', () => {
  const after = (durations: readonly number[]): Standing => {
    const usualMs = durations.reduce((usual, durationMs) => usualMsAfter(usual, durationMs), 0);
    return standingAfter('succeeded', usualMs);
  };

  test('The class depends on the duration of attempts, even if they succeed', () => {
    expect(after([4_500])).toBe('slow');
    expect(after(Array.from({ length: 10 }, () => ATTEMPT_LATE_MS + 50))).toBe('slow');
    expect(after(Array.from({ length: 10 }, () => ATTEMPT_LATE_MS - 50))).toBe('proven');
    expect(after([5, 5, 400, 5, 5])).toBe('proven');
    expect(after([4_500, 5, 4_500, 5, 4_500, 5])).toBe('slow');
    expect(after([4_500, ...Array.from({ length: 10 }, () => 5)])).toBe('proven');
  });

  test('An endpoint is slow after any time-out, and unproven after a quick failure', () => {
    expect(standingAfter('timed_out', 0)).toBe('slow');
    expect(standingAfter('failed', 5)).toBe('unproven');
    expect(standingAfter('failed', 3_000)).toBe('slow');
  });

  test('The allowance changes only with successes and time-outs', () => {
    expect(allowanceAfter(4, 'succeeded')).toBe(5);
    expect(allowanceAfter(ENDPOINT_ATTEMPTS_MAX, 'succeeded')).toBe(ENDPOINT_ATTEMPTS_MAX);
    expect(allowanceAfter(9, 'failed')).toBe(9);
    expect(allowanceAfter(9, 'timed_out')).toBe(4);
  });
});
