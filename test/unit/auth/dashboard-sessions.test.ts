import { describe, expect, test } from 'vitest';
import { DashboardSessions, type SessionKey } from '../../../src/auth/dashboard-sessions.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import {
  DASHBOARD_SESSION_MS,
  DASHBOARD_SESSIONS_MAX,
  DASHBOARD_SESSIONS_PER_KEY_MAX,
} from '../../../src/kernel/limits.ts';

const NOW = 1_790_000_000_000;

function key(n: number): SessionKey {
  return { hash: n.toString(16).padStart(64, '0'), customer: n as CustomerNumber, prefix: `sk_live_${n}` };
}

describe('dashboard sessions', () => {
  test('Each sign-in gets a new id of 256 random bits, and the session is found by it alone', () => {
    const sessions = new DashboardSessions();
    const ids = Array.from({ length: 10 }, () => sessions.open(key(1), NOW));
    expect(new Set(ids).size).toBe(10);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(sessions.use(ids[3] ?? '', NOW)).toMatchObject({ key: key(1), createdAtMs: NOW });
    for (const id of ['', 'x', `${ids[3]}x`, ids[3]?.slice(1) ?? '', 'a'.repeat(43), 'a'.repeat(100_000)]) {
      expect(sessions.use(id, NOW)).toBeNull();
    }
  });

  test('The name of a session does not contain its id, and no field does', () => {
    const sessions = new DashboardSessions();
    const id = sessions.open(key(1), NOW);
    const session = sessions.use(id, NOW);
    expect(session?.name).toMatch(/^[0-9a-f]{8}$/);
    expect(JSON.stringify([session, sessions])).not.toContain(id);
  });

  test('A session ends 12 hours after it began, however much it is used', () => {
    const sessions = new DashboardSessions();
    const id = sessions.open(key(1), NOW);
    for (let ms = 0; ms < DASHBOARD_SESSION_MS; ms += 600_000) expect(sessions.use(id, NOW + ms)).not.toBeNull();
    expect(sessions.use(id, NOW + DASHBOARD_SESSION_MS - 1)).not.toBeNull();
    expect(sessions.use(id, NOW + DASHBOARD_SESSION_MS)).toBeNull();
    expect(sessions.size).toBe(0);
    expect(sessions.use(id, NOW)).toBeNull();
  });

  test('A clock that is set back to before a session ends it', () => {
    const sessions = new DashboardSessions();
    const id = sessions.open(key(1), NOW);
    expect(sessions.use(id, NOW - 1)).toBeNull();
  });

  test('A key has 20 sessions at most: the oldest ends, and those of other keys stay', () => {
    const sessions = new DashboardSessions();
    const other = sessions.open(key(2), NOW);
    const ids = Array.from({ length: DASHBOARD_SESSIONS_PER_KEY_MAX + 1 }, (_, n) => sessions.open(key(1), NOW + n));
    const after = NOW + 100;
    expect(ids.map((id) => sessions.use(id, after) !== null)).toEqual([false, ...Array<boolean>(20).fill(true)]);
    expect(sessions.use(other, after)).not.toBeNull();
    expect(sessions.size).toBe(DASHBOARD_SESSIONS_PER_KEY_MAX + 1);
  });

  test('A flood of sign-ins with many keys keeps a bounded number of sessions, the newest ones', () => {
    const sessions = new DashboardSessions();
    const first = sessions.open(key(1), NOW);
    for (let n = 0; n < DASHBOARD_SESSIONS_MAX + 50; n++) sessions.open(key(2 + n), NOW + 1);
    const last = sessions.open(key(1_000_000), NOW + 2);
    expect(sessions.size).toBe(DASHBOARD_SESSIONS_MAX);
    expect(sessions.use(first, NOW + 2)).toBeNull();
    expect(sessions.use(last, NOW + 2)).not.toBeNull();
  });

  test('Expired sessions are removed by later sign-ins', () => {
    const sessions = new DashboardSessions();
    for (let n = 0; n < 100; n++) sessions.open(key(n), NOW);
    sessions.open(key(1_000), NOW + DASHBOARD_SESSION_MS);
    expect(sessions.size).toBe(1);
  });

  test('Signing out ends one session, signing out everywhere all of the key', () => {
    const sessions = new DashboardSessions();
    const [a = '', b = '', c = ''] = [1, 1, 1].map((n) => sessions.open(key(n), NOW));
    const other = sessions.open(key(2), NOW);
    sessions.end(a);
    sessions.end('unknown');
    expect([a, b, c].map((id) => sessions.use(id, NOW) !== null)).toEqual([false, true, true]);
    sessions.endAll(key(1).hash);
    expect([a, b, c].map((id) => sessions.use(id, NOW) !== null)).toEqual([false, false, false]);
    expect(sessions.use(other, NOW)).not.toBeNull();
    expect(sessions.size).toBe(1);
  });
});
