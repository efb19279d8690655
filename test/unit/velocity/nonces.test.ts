import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { HistoryEvent } from '../../../src/risk/history.ts';
import { TOKEN_SEQUENCE_MAX } from '../../../src/kernel/limits.ts';
import { readVelocityStats } from '../../../src/velocity/stats.ts';
import { LocalVelocity } from '../../../src/velocity/local-velocity.ts';
import { MINUTE, World } from './events.ts';

const token = (seq: number, nonce = 1): Partial<HistoryEvent> => ({
  grant: { nonceLow: nonce, nonceHigh: ~nonce, seq },
});

function isReplay(world: World, seq: number, more: Partial<HistoryEvent> = {}): boolean {
  return world.see({ ...token(seq), ...more }).isTokenReplayed;
}

describe('tokens of one nonce', () => {
  test('A token is new once, whatever the order of the tokens', () => {
    const world = new World();
    for (const seq of [3, 0, 2, 1, 60, 17]) expect([seq, isReplay(world, seq)]).toEqual([seq, false]);
    for (const seq of [3, 0, 2, 1, 60, 17]) expect([seq, isReplay(world, seq)]).toEqual([seq, true]);
    expect(isReplay(world, 4)).toBe(false);
    expect(isReplay(world.wait(30 * MINUTE), 4)).toBe(true);
  });

  test('A token is a replay from 128 behind the newest on, and new up to 112 behind it', () => {
    const world = new World();
    expect(isReplay(world, 1_000)).toBe(false);
    expect(isReplay(world, 1_000 - 112)).toBe(false);
    expect(isReplay(world, 1_000 - 128)).toBe(true);
    expect(isReplay(world, TOKEN_SEQUENCE_MAX)).toBe(false);
    expect(isReplay(world, TOKEN_SEQUENCE_MAX)).toBe(true);
  });

  test('Nonces, customers and kinds of key are separate', () => {
    const world = new World();
    expect(isReplay(world, 0)).toBe(false);
    expect(isReplay(world, 0, token(0, 2))).toBe(false);
    expect(isReplay(world, 0, { publicKey: true })).toBe(false);
    expect(isReplay(world, 0, { customer: 8 as CustomerNumber })).toBe(false);
    expect(isReplay(world, 0)).toBe(true);
  });

  test('All instances over one table know the same tokens', () => {
    const world = new World();
    const other = new LocalVelocity(world.memory);
    expect(isReplay(world, 0)).toBe(false);
    expect(other.observe([world.event(token(0))])[0]?.isTokenReplayed).toBe(true);
  });

  test('A nonce takes one record, however many tokens it has, and an event without a grant none', () => {
    const [withGrants, without] = [new World(), new World()];
    for (let seq = 0; seq < 200; seq++) {
      withGrants.wait(1_000).see(token(seq));
      without.wait(1_000).see();
    }
    expect(readVelocityStats(withGrants.memory).used).toBe(readVelocityStats(without.memory).used + 1);
  });

  test('No token is accepted twice, and none of the newest 112 is refused when it is new', () => {
    const anyOrder = fc.array(fc.nat(400), { maxLength: 150 });
    const wrongIn = (seqs: readonly number[]): number[] => {
      const world = new World();
      const used = new Set<number>();
      let newest = -1;
      return seqs.filter((seq) => {
        const replay = isReplay(world, seq);
        const isWrong = used.has(seq) ? !replay : replay && seq >= newest - 112;
        if (!replay) used.add(seq);
        newest = Math.max(newest, seq);
        return isWrong;
      });
    };
    expect(() => fc.assert(fc.property(anyOrder, (seqs) => wrongIn(seqs).length === 0))).not.toThrow();
  });
});
