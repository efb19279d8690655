import { expect, test } from 'vitest';
import { HOST_ATTEMPTS_MAX } from '../../../src/kernel/delivery-limits.ts';
import type { EndpointMessage } from '../../../src/webhooks/deliver-messages.ts';
import { Run } from '../../../src/webhooks/endpoint-queue.ts';
import { LaneTurns } from '../../../src/webhooks/fair-scheduler.ts';
import { task } from './runner-support.ts';

const endpoint = (endpointId: string, url: string): EndpointMessage => ({
  endpointId,
  url,
  secrets: { current: 'whsec_AAAA', previous: [] },
});

/** Gives the endpoint `count` deliveries, and queues it. */
function hand(turns: LaneTurns, endpointId: string, count: number): void {
  const queue = turns.find(endpointId);
  if (queue === undefined) throw new Error(`${endpointId} is unknown`);
  const run = new Run(
    queue,
    Array.from({ length: count }, (_none, i) => task(endpointId, `${endpointId}-${i}`)),
  );
  for (let i = 0; i < count; i++) run.add(i);
  queue.append(run);
  turns.line(queue);
}

/** Begins attempts until no further one may begin, and returns their endpoints in order. */
function beginAll(turns: LaneTurns): string[] {
  const begun: string[] = [];
  for (let next = turns.next(); next !== null; next = turns.next()) begun.push(next.place.queue.id);
  return begun;
}

test('An endpoint that waits for its host begins at once when its address moves to another host', () => {
  const turns = new LaneTurns(512);
  for (let i = 0; i < HOST_ATTEMPTS_MAX; i++) {
    turns.meet(endpoint(`w${i}`, 'https://full.example/hook'));
    hand(turns, `w${i}`, 1);
  }
  expect(beginAll(turns)).toHaveLength(HOST_ATTEMPTS_MAX);
  turns.meet(endpoint('waits', 'https://full.example/hook'));
  hand(turns, 'waits', 2);
  expect(beginAll(turns)).toEqual([]);
  turns.meet(endpoint('waits', 'https://free.example/hook'));
  expect(beginAll(turns)).toEqual(['waits', 'waits']);
});

test('Endpoints take turns: each begins one attempt before any begins its second', () => {
  const turns = new LaneTurns(512);
  for (const id of ['a', 'b', 'c']) {
    turns.meet(endpoint(id, `https://${id}.example/hook`));
    hand(turns, id, 3);
  }
  const begun = beginAll(turns);
  expect([new Set(begun.slice(0, 3)).size, new Set(begun.slice(3, 6)).size, begun.length]).toEqual([3, 3, 9]);
});
