import { afterEach, describe, expect, test, vi } from 'vitest';
import { Applier, createAppliersMemory } from '../../../src/velocity/applier.ts';

afterEach(() => void vi.useRealTimers());

const of = (...streams: number[]) => streams.map((stream) => ({ stream }));

describe('what threads are applying', () => {
  test('Others see the streams whose entries a thread has not applied; it does not see its own', () => {
    const memory = createAppliersMemory();
    const [one, other] = [new Applier(memory), new Applier(memory)];
    expect(other.unapplied(of(0, 7, 63))).toEqual([]);
    one.begin(7);
    expect([one.unapplied(of(7)), other.unapplied(of(0, 63))]).toEqual([[], []]);
    const [found] = other.unapplied(of(0, 7));
    expect(found !== undefined && other.isWaiting(found)).toBe(true);
    one.end();
    expect(found !== undefined && other.isWaiting(found)).toBe(false);
    expect(other.unapplied(of(7))).toEqual([]);
  });

  test.each([0, 63])('What a thread begins later is not waited for: stream %i', (stream) => {
    const memory = createAppliersMemory();
    const [one, other] = [new Applier(memory), new Applier(memory)];
    one.begin(stream);
    const [found] = other.unapplied(of(stream));
    one.end();
    one.begin(stream);
    expect(found !== undefined && other.isWaiting(found)).toBe(false);
    expect(other.unapplied(of(stream))).toHaveLength(1);
  });

  test('A thread that died in between is waited for up to a second', () => {
    vi.useFakeTimers({ toFake: ['hrtime'] });
    const memory = createAppliersMemory();
    const [dead, other] = [new Applier(memory), new Applier(memory)];
    dead.begin(7);
    vi.advanceTimersByTime(999);
    expect(other.unapplied(of(7))).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(other.unapplied(of(7))).toEqual([]);
  });

  test('After many restarts threads share slots, and still see each other', () => {
    const memory = createAppliersMemory();
    for (let n = 0; n < 200; n++) new Applier(memory).begin(1);
    const [one, other] = [new Applier(memory), new Applier(memory)];
    one.begin(7);
    expect(other.unapplied(of(7))).toHaveLength(1);
    one.end();
    expect(other.unapplied(of(7))).toEqual([]);
  });
});
