import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Breaker } from '../../../../src/cluster/store/breaker.ts';
import { FunctionLibrary } from '../../../../src/cluster/store/functions.ts';
import { type IdChangeKind, IdChanges } from '../../../../src/cluster/admission/id-changes.ts';
import type { Command, Link, Sent } from '../../../../src/cluster/store/link.ts';
import type { AdmittedId } from '../../../../src/ports/admission.ts';

const id = (n: number): AdmittedId => ({
  hashLow: n,
  hashHigh: 2 ** 32 - 1 - n,
  expiresAtSeconds: 7,
  keyNumber: n % 5,
});

describe('changes of ids that wait for the store', () => {
  test('They leave in their order, in runs of one kind; beyond the bound the oldest are dropped and counted', () => {
    const step = fc.oneof(
      fc.record({
        push: fc.constantFrom<IdChangeKind>('remember', 'release'),
        times: fc.integer({ min: 1, max: 900 }),
      }),
      fc.record({ take: fc.integer({ min: 1, max: 700 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.constantFrom(1, 10, 3_000), (steps, max) => {
        const changes = new IdChanges(max);
        let model: (readonly [IdChangeKind, AdmittedId])[] = [];
        let serial = 0;
        let dropped = 0;
        for (const one of steps) {
          if ('push' in one)
            for (let n = 0; n < one.times; n++) {
              const next = id(serial++);
              changes.push(one.push, next);
              model.push([one.push, next]);
              if (model.length > max) dropped++;
              model = model.slice(-max);
            }
          else if (model.length > 0) {
            const [[first] = ['remember']] = model;
            const end = model.findIndex(([kind]) => kind !== first);
            const run = model.slice(0, end < 0 ? model.length : end).slice(0, one.take);
            expect(changes.peek(one.take)).toEqual({ kind: first, ids: run.map(([, held]) => held) });
            changes.drop(run.length);
            model = model.slice(run.length);
          }
          expect([changes.count, changes.dropped]).toEqual([model.length, dropped]);
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe('the breaker of a primary', () => {
  test('It is closed by a probe, opened by the third late round trip in succession, and counts outages once', () => {
    const breaker = new Breaker(3);
    expect([breaker.isOpen, breaker.opened]).toEqual([true, 0]);
    breaker.proved();
    for (let n = 0; n < 10; n++) {
      breaker.late();
      breaker.late();
      breaker.onTime();
    }
    expect([breaker.isOpen, breaker.opened]).toEqual([false, 0]);
    for (let n = 0; n < 5; n++) breaker.late();
    breaker.lost();
    // A reply that comes late does not close it.
    breaker.onTime();
    expect([breaker.isOpen, breaker.opened]).toEqual([true, 1]);
    breaker.proved();
    expect(breaker.isOpen).toBe(false);
    breaker.late();
    expect(breaker.isOpen).toBe(false);
  });
});

describe('a library of functions', () => {
  const library = new FunctionLibrary('test', ['one'], 'local function one(keys, args) return 1 end');
  const call = (key: string) => ({ name: 'one', keys: [key, `${key}2`], args: ['x'] });
  const unknown: Sent = { kind: 'fault', what: 'refused', detail: 'ERR Function not found' };
  const fine: Sent = { kind: 'reply', reply: 1 };

  /** Answers as `answer` says, and keeps what was sent. */
  function linkThat(answer: (command: Command, round: number) => Sent) {
    const rounds: (readonly Command[])[] = [];
    const link: Link = {
      isUp: true,
      send: (commands) =>
        Promise.resolve(commands.map((command) => answer(command, rounds.length))).finally(() => rounds.push(commands)),
      close: () => Promise.resolve(),
    };
    return { link, rounds };
  }

  test('Known functions take one round trip; all keys are declared', async () => {
    const { link, rounds } = linkThat(() => fine);
    expect(await library.call(link, [call('{a}:1')])).toEqual([fine]);
    expect(rounds).toHaveLength(1);
    expect(rounds[0]?.[0]?.args.slice(2)).toEqual(['2', '{a}:1', '{a}:12', 'x']);
  });

  test('Only unknown calls are repeated, after one load for each of their tags', async () => {
    const { link, rounds } = linkThat((command, round) =>
      round === 0 && !command.key.startsWith('{b}') ? unknown : fine,
    );
    expect(await library.call(link, [call('{a}:1'), call('{b}:1'), call('{a}:2'), call('{c}:1')])).toEqual([
      fine,
      fine,
      fine,
      fine,
    ]);
    expect(rounds[1]?.map(({ key, args }) => [key, args[0]])).toEqual([
      ['{a}', 'FUNCTION'],
      ['{c}', 'FUNCTION'],
      ['{a}:1', 'FCALL'],
      ['{a}:2', 'FCALL'],
      ['{c}:1', 'FCALL'],
    ]);
  });

  test('A store that never knows the function is asked twice, not for ever', async () => {
    const { link, rounds } = linkThat(() => unknown);
    expect(await library.call(link, [call('{a}:1')])).toEqual([unknown]);
    expect(rounds).toHaveLength(2);
  });

  test('Another text has another name, so that versions do not replace each other', async () => {
    const other = new FunctionLibrary('test', ['one'], 'local function one(keys, args) return 2 end');
    const { link, rounds } = linkThat(() => fine);
    await library.call(link, [call('{a}:1')]);
    await other.call(link, [call('{a}:1')]);
    expect(rounds[0]?.[0]?.args[1]).not.toBe(rounds[1]?.[0]?.args[1]);
  });
});
