import { describe, expect, test } from 'vitest';
import { LocalSteps } from '../../../../src/extract/local/local-steps.ts';
import { stepsNamed } from '../../../support/extraction-jobs.ts';

const found = (...keys: readonly string[]): ReturnType<typeof stepsNamed> => stepsNamed(keys);

function drain(steps: LocalSteps): string[] {
  const keys: string[] = [];
  for (let step = steps.take(); step !== null; step = steps.take()) keys.push(step.key);
  return keys;
}

describe('LocalSteps', () => {
  test('steps are returned in the order in which they were found, each key once, even after it is done', () => {
    const steps = new LocalSteps();
    steps.add(found('a', 'b', 'a'));
    expect(steps.take()).toEqual({ key: 'a', stateJson: '{"key":"a"}' });
    steps.add(found('c', 'a', 'b'));
    expect(steps.waiting).toBe(2);
    expect(drain(steps)).toEqual(['b', 'c']);
    expect(steps.take()).toBeNull();
    expect(steps.leftOut).toBe(0);
  });

  test('steps keep their order over many additions and removals', () => {
    const steps = new LocalSteps();
    const taken: string[] = [];
    for (let i = 0; i < 500; i++) {
      steps.add(found(`x${2 * i}`, `x${2 * i + 1}`));
      taken.push(steps.take()?.key ?? '');
    }
    expect([...taken, ...drain(steps)]).toEqual(Array.from({ length: 1_000 }, (_, i) => `x${i}`));
  });

  test('lists come after all pages, the last one found first', () => {
    const steps = new LocalSteps();
    steps.add(found('list:2', 'list:1', 'a'));
    expect([steps.take()?.key, steps.take()?.key]).toEqual(['a', 'list:1']);
    steps.add(found('list:1.2', 'list:1.1', 'b'));
    expect(steps.waiting).toBe(4);
    expect(drain(steps)).toEqual(['b', 'list:1.1', 'list:1.2', 'list:2']);
    expect(steps.waiting).toBe(0);
  });

  test('waiting steps are limited by size, and rejected ones are counted and may be added later', () => {
    const steps = new LocalSteps({ waitingCharactersMax: 30 });
    steps.add(found('a', 'b', 'c', 'd'));
    expect([steps.waiting, steps.leftOut]).toEqual([2, 2]);
    steps.take();
    steps.add(found('c'));
    expect(drain(steps)).toEqual(['b', 'c']);
  });

  test('the number of distinct steps is limited', () => {
    const steps = new LocalSteps({ knownMax: 3 });
    steps.add(found('a', 'b', 'c', 'd', 'a'));
    expect(drain(steps)).toEqual(['a', 'b', 'c']);
    expect(steps.leftOut).toBe(1);
  });
});
