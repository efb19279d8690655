import { describe, expect, test } from 'vitest';
import { randomOf } from '../../../scripts/traffic/random.ts';
import { SessionMemos } from '../../../src/score/session-memo.ts';

const NO_GRANT = { open: () => null };

describe('the cache of sessions', () => {
  test('A session is cached from its second event on', () => {
    const memos = new SessionMemos(NO_GRANT);
    const [first, second, third] = [memos.get('token'), memos.get('token'), memos.get('token')];
    expect(second).not.toBe(first);
    expect(third).toBe(second);
    expect(second.fingerprintHash).toBe(first.fingerprintHash);
  });

  test('Of 20,000 active sessions the cache has nearly all events that it can have', () => {
    const memos = new SessionMemos(NO_GRANT);
    const random = randomOf(1);
    const active: { token: string; left: number; seen: number; memo: unknown }[] = [];
    let serial = 0;
    let possible = 0;
    let cached = 0;
    for (let event = 0; event < 300_000; event++) {
      const at = Math.floor(random() * 20_000);
      let session = active[at];
      if (session === undefined || session.left === 0)
        session = active[at] = { token: `session-${++serial}`, left: 8, seen: 0, memo: null };
      session.left--;
      const memo = memos.get(session.token);
      // The first two events of a session are never answered by the cache.
      if (++session.seen > 2 && event > 100_000) {
        possible++;
        if (memo === session.memo) cached++;
      }
      session.memo = memo;
    }
    expect(cached / possible).toBeGreaterThan(0.95);
  });
});
