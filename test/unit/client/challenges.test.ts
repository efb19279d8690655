import { expect, test } from 'vitest';
import { Challenges, type ChallengesOptions } from '../../../src/client/challenges.ts';

function begun(options: ChallengesOptions = {}) {
  const outcomes: string[] = [];
  const clock = { nowMs: 0 };
  const client = {
    outcome: (decision: { readonly request_id: string | null } | string | null, outcome: string) => {
      outcomes.push(`${typeof decision === 'string' ? decision : decision?.request_id} ${outcome}`);
      return Promise.resolve(true);
    },
  };
  const challenges = new Challenges(client, { nowMs: () => clock.nowMs, ...options });
  const begin = (isRight = true, id = 'req_1') => challenges.begin({ request_id: id }, 'anna', isRight);
  return { challenges, outcomes, clock, begin };
}
const otherThan = (code: string | null): string => (code === '000000' ? '111111' : '000000');

test('A passed challenge returns the account once and reports challenge_passed alone', () => {
  const { challenges, outcomes, begin } = begun();
  const { ticket, code } = begin();
  expect([ticket, code]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^\d{6}$/)]);
  expect(challenges.answer(ticket, otherThan(code))).toEqual({ kind: 'wrong', attemptsLeft: 2 });
  expect(challenges.answer(ticket, ` ${code} `)).toEqual({ kind: 'passed', account: 'anna' });
  expect(challenges.answer(ticket, code)).toEqual({ kind: 'over' });
  expect(outcomes).toEqual(['req_1 challenge_passed']);
});

test('A wrong password has no code, looks the same and reports failed alone', () => {
  const { challenges, outcomes, begin } = begun();
  const { ticket, code } = begin(false);
  expect(code).toBeNull();
  const answers = ['000000', 'null', null].map((given) => challenges.answer(ticket, given).kind);
  expect(answers).toEqual(['wrong', 'wrong', 'over']);
  expect(outcomes).toEqual(['req_1 failed']);
});

test('The last wrong code ends the challenge and reports challenge_failed alone', () => {
  const { challenges, outcomes, begin } = begun({ attempts: 2 });
  const { ticket, code } = begin();
  for (const kind of ['wrong', 'over', 'over'])
    expect(challenges.answer(ticket, otherThan(code))).toMatchObject({ kind });
  expect(challenges.answer(ticket, code)).toEqual({ kind: 'over' });
  expect(outcomes).toEqual(['req_1 challenge_failed']);
});

test('A challenge that nobody answered in time is over without an outcome', () => {
  const { challenges, outcomes, clock, begin } = begun({ lifetimeMs: 1_000 });
  const { ticket, code } = begin();
  clock.nowMs = 1_000;
  expect(challenges.answer(ticket, code)).toEqual({ kind: 'over' });
  expect(outcomes).toEqual([]);
});

test('The oldest challenge makes room for a new one', () => {
  const { challenges, begin } = begun({ openMax: 2 });
  const [first, second, third] = [begin(), begin(), begin()];
  expect(challenges.answer(first.ticket, first.code)).toEqual({ kind: 'over' });
  for (const { ticket, code } of [second, third])
    expect(challenges.answer(ticket, code)).toMatchObject({ kind: 'passed' });
});

test.each([undefined, null, 7, ['a'], {}, '', '__proto__'])('The ticket %j is over', (ticket) => {
  expect(begun().challenges.answer(ticket, '000000')).toEqual({ kind: 'over' });
});
