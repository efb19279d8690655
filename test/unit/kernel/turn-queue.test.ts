import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Turn, TurnQueue } from '../../../src/kernel/turn-queue.ts';

const VALUES = [0, 1, 2, 3, 4, 5];
const step = fc.oneof(
  fc.record({ kind: fc.constantFrom('put' as const, 'remove' as const), value: fc.constantFrom(...VALUES) }),
  fc.constant({ kind: 'take' as const, value: 0 }),
);

test('Values leave in the order in which they came, each waits at most once, and a removed one is skipped', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new TurnQueue<number>();
      const turns = VALUES.map((value) => new Turn(value));
      let expected: number[] = [];
      for (const { kind, value } of steps) {
        const turn = turns[value];
        if (turn === undefined) throw new Error('a turn is missing');
        const waits = expected.includes(value);
        if (kind === 'put') {
          expect(queue.put(turn)).toBe(!waits);
          if (!waits) expected.push(value);
        } else if (kind === 'remove') {
          expect(queue.remove(turn)).toBe(waits);
          expected = expected.filter((one) => one !== value);
        } else expect(queue.take()).toBe(expected.shift() ?? null);
        expect(queue.size).toBe(expected.length);
      }
    }),
  );
});

test('A value that waits in one queue is neither put into another nor removed from it', () => {
  const [first, second] = [new TurnQueue<string>(), new TurnQueue<string>()];
  const turn = new Turn('a');
  first.put(turn);
  expect([second.put(turn), second.remove(turn), second.size]).toEqual([false, false, 0]);
  expect([first.take(), second.put(turn)]).toEqual(['a', true]);
});
