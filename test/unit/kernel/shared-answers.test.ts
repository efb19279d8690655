import { describe, expect, test } from 'vitest';
import { createAnswerMemory, SharedAnswers } from '../../../src/kernel/shared-answers.ts';

const NOW = 1_800_000_000;
const SOURCE = '192.0.2.0/24';

describe('answers to questions that decisions do not wait for', () => {
  test('A question waits once, however many threads ask it, and its answer is found by all of them', () => {
    const memory = createAnswerMemory(16_384);
    const [asker, other, answerer] = [new SharedAnswers(memory), new SharedAnswers(memory), new SharedAnswers(memory)];
    expect(asker.find('name google 192.0.2.1', NOW)).toBe(0);
    for (const one of [asker, other, asker])
      one.ask({ question: 'name google 192.0.2.1', customer: 7, source: SOURCE });
    expect(answerer.take()).toEqual([{ question: 'name google 192.0.2.1', customer: 7, source: SOURCE }]);
    expect(answerer.take()).toEqual([]);
    answerer.put('name google 192.0.2.1', 3, 3_600, NOW);
    expect(other.find('name google 192.0.2.1', NOW)).toBe(3);
    expect(other.find('name google 192.0.2.2', NOW)).toBe(0);
  });

  test('An answer is gone after its time, and a later one replaces it', () => {
    const answers = new SharedAnswers(createAnswerMemory(16_384));
    answers.put('a', 2, 3_600, NOW);
    expect(answers.find('a', NOW + 3_599)).toBe(2);
    expect(answers.find('a', NOW + 3_660)).toBe(0);
    answers.put('a', 1, 86_400, NOW);
    expect(answers.find('a', NOW + 3_660)).toBe(1);
  });

  test('100,000 answers keep the memory as it is: those that expire first are lost', () => {
    const answers = new SharedAnswers(createAnswerMemory(16_384));
    answers.put('kept', 1, 86_400, NOW);
    for (let n = 0; n < 100_000; n++) answers.put(`failed ${n}`, 2, 3_600, NOW);
    expect(answers.find('kept', NOW)).toBe(1);
    let found = 0;
    for (let n = 0; n < 100_000; n++) if (answers.find(`failed ${n}`, NOW) === 2) found++;
    expect(found).toBeGreaterThan(10_000);
    expect(found).toBeLessThanOrEqual(16_384);
  });

  test('Questions beyond the places are dropped, and longer ones than any domain are never asked', () => {
    const answers = new SharedAnswers(createAnswerMemory(16_384));
    for (let n = 0; n < 10_000; n++) answers.ask({ question: `name ${n}`, customer: 1, source: SOURCE });
    const taken = answers.take();
    expect(taken.length).toBeGreaterThan(200);
    expect(taken.length).toBeLessThanOrEqual(256);
    answers.ask({ question: 'x'.repeat(289), customer: 1, source: SOURCE });
    answers.ask({ question: 'x', customer: 1, source: 'y'.repeat(49) });
    expect(answers.take()).toEqual([]);
  });
});
