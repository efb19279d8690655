import { describe, expect, onTestFinished, test } from 'vitest';
import type { WorkEntry, WorkQueue } from '../../../src/ports/work-queue-port.ts';

/** A queue, and the write that makes published entries durable. */
export interface OpenWorkQueue {
  readonly queue: WorkQueue;
  /** Makes what was published since the last call durable, and announces it to the consumer. */
  commit(): void;
  close(): void;
}

/** What every implementation of the port promises. `open` opens the same queue again after `close`, as a restarted process does. */
export function workQueueSuite(name: string, makeOpen: () => (ackedUpTo: number) => OpenWorkQueue): void {
  function setUp(): { reopen(ackedUpTo: number): OpenWorkQueue } & OpenWorkQueue {
    const open = makeOpen();
    let present = open(0);
    onTestFinished(() => present.close());
    return {
      get queue() {
        return present.queue;
      },
      commit: () => present.commit(),
      close: () => present.close(),
      reopen(ackedUpTo) {
        present.close();
        present = open(ackedUpTo);
        present.commit();
        return present;
      },
    };
  }

  function publish(one: OpenWorkQueue, ...sequences: readonly number[]): void {
    for (const sequence of sequences) expect(one.queue.publish(sequence, bytesOf(sequence))).toBe(true);
    one.commit();
  }

  describe(`the work queue: ${name}`, () => {
    test('Entries arrive in order with their bytes, each once', () => {
      const one = setUp();
      publish(one, 1, 2);
      publish(one, 3);
      expect(receiveAll(one.queue)).toEqual([1, 2, 3].map(entry));
      expect(receiveAll(one.queue)).toEqual([]);
      publish(one, 4);
      expect(receiveAll(one.queue)).toEqual([entry(4)]);
    });

    test('An entry is not received before its write', () => {
      const one = setUp();
      publish(one, 1);
      expect(one.queue.publish(2, bytesOf(2))).toBe(true);
      expect(receiveAll(one.queue)).toEqual([entry(1)]);
      one.commit();
      expect(receiveAll(one.queue)).toEqual([entry(2)]);
    });

    test('One call returns a bounded part when more is left', () => {
      const one = setUp();
      const sequences = Array.from({ length: 2_000 }, (_, n) => n + 1);
      for (let from = 0; from < sequences.length; from += 20) publish(one, ...sequences.slice(from, from + 20));
      const first = one.queue.receive(1);
      expect(first.length).toBeGreaterThan(0);
      expect(first.length).toBeLessThan(2_000);
      expect([...first, ...receiveAll(one.queue)].map(({ sequence }) => sequence)).toEqual(sequences);
    });

    test('A claim makes unacknowledged entries receivable again, and acknowledged ones not', () => {
      const one = setUp();
      publish(one, 1, 2, 3);
      receiveAll(one.queue);
      one.queue.ack(2);
      one.queue.claim();
      expect(receiveAll(one.queue)).toEqual([entry(3)]);
    });

    test('After a restart unacknowledged entries are received again, before later ones', () => {
      const one = setUp();
      publish(one, 1, 2, 3);
      receiveAll(one.queue);
      one.queue.ack(1);
      one.reopen(1);
      publish(one, 4);
      expect(receiveAll(one.queue)).toEqual([2, 3, 4].map(entry));
    });
  });
}

function bytesOf(sequence: number): Buffer {
  return Buffer.from(`work ${sequence} ${'x'.repeat(100)}`);
}

function entry(sequence: number): WorkEntry {
  return { sequence, bytes: bytesOf(sequence) };
}

function receiveAll(queue: WorkQueue): WorkEntry[] {
  const all: WorkEntry[] = [];
  for (let next = queue.receive(10_000); next.length > 0; next = queue.receive(10_000)) all.push(...next);
  return all;
}
