import { expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import {
  RepeatedRequests,
  REPEATS_BYTES_MAX,
  REPEATS_MS,
  REPEATS_PER_CUSTOMER_MAX,
} from '../../../src/decide/repeated-requests.ts';
import type { Pending } from '../../../src/decide/pending-decision.ts';

const ONE = 1 as CustomerNumber;
const OTHER = 2 as CustomerNumber;

function open() {
  const state = { nowMs: 1_000, inputs: 'a' };
  const requests = new RepeatedRequests(
    () => state.nowMs,
    () => state.inputs,
  );
  const decide = (customer: CustomerNumber, key: string, answer = '{}'): void => {
    const claim = requests.claim(customer, key, 'h');
    if (claim.kind !== 'first') throw new Error(claim.kind);
    requests.finish(claim.of, answer);
  };
  return { state, requests, decide };
}

test('The same key and body are the first, wait for it, and then get its answer; another body and another customer do not', () => {
  const { requests } = open();
  const first = requests.claim(ONE, 'k', 'h');
  expect(first.kind).toBe('first');
  const second = requests.claim(ONE, 'k', 'h');
  expect(second.kind).toBe('pending');
  const waiting = {} as Pending;
  if (first.kind === 'conflict' || second.kind === 'conflict') throw new Error('conflict');
  second.of.waiting.push(waiting);
  expect(requests.claim(ONE, 'k', 'x').kind).toBe('conflict');
  expect(requests.claim(OTHER, 'k', 'x').kind).toBe('first');
  expect(requests.finish(first.of, '{"a":1}')).toEqual([waiting]);
  expect(requests.claim(ONE, 'k', 'h')).toMatchObject({ kind: 'answered', of: { answer: '{"a":1}', waiting: [] } });
});

test('A list that is written while the first is decided makes the answer outdated, once', () => {
  const { state, requests } = open();
  const first = requests.claim(ONE, 'k', 'h');
  if (first.kind === 'conflict') throw new Error('conflict');
  state.inputs = 'b';
  requests.finish(first.of, 'old');
  const again = requests.claim(ONE, 'k', 'h');
  if (again.kind !== 'outdated') throw new Error(again.kind);
  expect(requests.claim(ONE, 'k', 'h').kind).toBe('pending');
  expect(requests.restore(again.of, again.before)).toEqual([]);
  const third = requests.claim(ONE, 'k', 'h');
  if (third.kind !== 'outdated') throw new Error(third.kind);
  expect(third.before).toBe('old');
  requests.finish(third.of, 'new');
  expect(requests.claim(ONE, 'k', 'h')).toMatchObject({ kind: 'answered', of: { answer: 'new' } });
});

test('A request without an answer is decided when it comes again, and an answer is forgotten after its time', () => {
  const { state, requests, decide } = open();
  const failed = requests.claim(ONE, 'k', 'h');
  if (failed.kind === 'conflict') throw new Error('conflict');
  requests.finish(failed.of, null);
  decide(ONE, 'k');
  state.nowMs += REPEATS_MS - 1;
  expect(requests.claim(ONE, 'k', 'h').kind).toBe('answered');
  state.nowMs += 1;
  expect(requests.claim(ONE, 'k', 'h').kind).toBe('first');
  expect(requests.bytes).toBeLessThan(2_000);
});

test('The oldest keys of a customer go first, and no other customer loses one by that', () => {
  const { requests, decide } = open();
  decide(OTHER, 'theirs');
  for (let n = 0; n <= REPEATS_PER_CUSTOMER_MAX; n++) decide(ONE, `k${n}`, '');
  expect(requests.claim(OTHER, 'theirs', 'h').kind).toBe('answered');
  expect(requests.claim(ONE, 'k1', 'h').kind).toBe('answered');
  expect(requests.claim(ONE, 'k0', 'h').kind).toBe('first');
});

test('Answers of all customers together are bounded in bytes', () => {
  const { requests, decide } = open();
  const answer = 'x'.repeat(1024 * 1024);
  for (let n = 0; n < 200; n++) decide(n as CustomerNumber, 'k', answer);
  expect(requests.bytes).toBeLessThanOrEqual(REPEATS_BYTES_MAX);
  expect(requests.claim(199 as CustomerNumber, 'k', 'h').kind).toBe('answered');
  expect(requests.claim(0 as CustomerNumber, 'k', 'h').kind).toBe('first');
});
