import { describe, expect, test } from 'vitest';
import { ALL_STAGES } from '../../../bench/micro/index.ts';
import { Ring, runStage, type Stage } from '../../../bench/micro/stage.ts';

/** Tests the parts of the micro benches; `micro.long.test.ts` runs the benches. */

test('Every micro bench has a unique name', () => {
  expect(new Set(ALL_STAGES.map(({ name }) => name)).size).toBe(ALL_STAGES.length);
});

describe('a stage', () => {
  test('A stage fails and is closed when its task returns an unexpected result', async () => {
    let closed = 0;
    const wrong = stageOf((tasks) => {
      tasks.add('a refusal', { perSample: 1, run: () => 'refused', isSane: (outcome) => outcome === 'verified' });
      return { close: () => void closed++ };
    });
    await expect(runStage(wrong, { smoke: true })).rejects.toThrow('a refusal');
    expect(closed).toBe(1);
  });

  test('A stage fails and is closed when its task resolves to an unexpected result', async () => {
    const wrong = stageOf((tasks) => {
      tasks.addAsync('a refusal', { perSample: 1, run: () => Promise.resolve(false), isSane: (done) => done });
      return {};
    });
    await expect(runStage(wrong, { smoke: true })).rejects.toThrow('a refusal');
  });

  test('A stage fails when its task throws', async () => {
    const wrong = stageOf((tasks) => {
      tasks.add('throws', {
        perSample: 1,
        run() {
          throw new Error('on purpose');
        },
        isSane: () => true,
      });
      return {};
    });
    await expect(runStage(wrong, { smoke: true })).rejects.toThrow('on purpose');
  });

  test('A stage prepares before each sample and continues its operation count', async () => {
    const seen: (number | 'prepared')[] = [];
    const counting = stageOf((tasks) => {
      tasks.add('counts', {
        perSample: 2,
        prepare: () => void seen.push('prepared'),
        run: (n) => seen.push(n),
        isSane: () => true,
      });
      return { notes: () => ['a note'] };
    });
    const { rows, notes } = await runStage(counting, { smoke: true });
    expect(notes).toEqual(['a note']);
    expect(rows).toMatchObject([{ task: 'counts', perSample: 2, samples: 2 }]);
    expect(seen.slice(0, 6)).toEqual(['prepared', 0, 1, 'prepared', 2, 3]);
  });
});

test('A ring wraps around, and its size is a power of two', () => {
  const ring = Ring.of(4, (n) => `${n}`);
  expect([0, 3, 4, 9].map((n) => ring.at(n))).toEqual(['0', '3', '0', '1']);
  expect(() => Ring.of(3, String)).toThrow('3 items');
});

function stageOf(add: Stage['add']): Stage {
  return { name: 'wrong', add };
}
