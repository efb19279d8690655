import { describe, expect, test } from 'vitest';
import { LookUpBudget } from '../../../src/data/look-up-budget.ts';
import { type LookUp, LookUps } from '../../../src/data/look-ups.ts';
import { createAnswerMemory, SharedAnswers } from '../../../src/kernel/shared-answers.ts';

const NOW = 1_800_000_000;
const FOUND = { answer: 1, name: 'confirmed', keepSeconds: 60 };

describe('the budget of look-ups', () => {
  test('Two checks begin a second, of at most two look-ups each, and six a minute for one network', () => {
    const budget = new LookUpBudget();
    const begun = Array.from({ length: 60_000 }, (_, ms) => budget.take(1, `network ${ms % 1_000}`, ms)).filter(
      Boolean,
    );
    // Three quarters of the 120 of this minute: a single customer.
    expect(begun).toHaveLength(90);
    expect(budget.take(2, 'network x', 60_000)).toBe(true);
    expect(budget.take(2, 'network y', 60_000)).toBe(true);
    expect(budget.take(2, 'network z', 60_000)).toBe(false);
    const ofOne = Array.from({ length: 59 }, (_, second) => budget.take(3, 'network x', 61_000 + second * 1_000));
    expect(ofOne.filter(Boolean)).toHaveLength(5);
  });

  test('A customer that used up its share leaves the rest to others', () => {
    const budget = new LookUpBudget();
    for (let ms = 0; ms < 59_000; ms += 500) budget.take(1, `network ${ms}`, ms);
    expect(budget.take(1, 'network x', 59_500)).toBe(false);
    expect(budget.take(2, 'network x', 59_500)).toBe(true);
  });
});

describe('look-ups', () => {
  test('One that rejects is counted, and asked again', async () => {
    const answers = new SharedAnswers(createAnswerMemory(16_384));
    let asked = 0;
    const kinds = { known: () => (asked++ === 0 ? Promise.reject(new Error('x')) : Promise.resolve(FOUND)) };
    const lookUps = new LookUps({ answers, kinds, nowSeconds: () => NOW });
    for (let n = 0; n < 2; n++) {
      answers.ask({ question: 'known a', customer: 1, source: 'x' });
      await lookUps.answerAll();
    }
    expect(answers.find('known a', NOW)).toBe(1);
    expect(lookUps.counts()).toEqual([
      { labels: ['known', 'failed'], count: 1 },
      { labels: ['known', 'confirmed'], count: 1 },
    ]);
  });

  test('Each question runs once while it is looked up, and what the budget refuses is asked again later', async () => {
    const answers = new SharedAnswers(createAnswerMemory(16_384));
    const asked: string[] = [];
    let settle = (): void => {};
    const kind: LookUp = (about) => {
      asked.push(about);
      return new Promise((resolve) => {
        settle = () => resolve({ answer: 1, name: 'confirmed', keepSeconds: 60 });
      });
    };
    let elapsedMs = 0;
    const lookUps = new LookUps({
      answers,
      kinds: { known: kind },
      nowSeconds: () => NOW,
      elapsedMs: () => elapsedMs,
    });
    const ask = (question: string): void => answers.ask({ question, customer: 1, source: question });
    ask('known a');
    const first = lookUps.answerAll();
    ask('known a');
    ask('toString a');
    const second = lookUps.answerAll();
    expect(asked).toEqual(['a']);
    settle();
    await Promise.all([first, second]);
    expect(answers.find('known a', NOW)).toBe(1);
    for (const name of ['b', 'c']) ask(`known ${name}`);
    void lookUps.answerAll();
    expect(asked).toHaveLength(2);
    elapsedMs = 1_000;
    for (const name of ['b', 'c']) ask(`known ${name}`);
    void lookUps.answerAll();
    expect(asked.toSorted()).toEqual(['a', 'b', 'c']);
    expect(lookUps.counts()).toEqual([
      { labels: ['known', 'confirmed'], count: 1 },
      { labels: ['known', 'dropped'], count: 1 },
    ]);
  });
});
