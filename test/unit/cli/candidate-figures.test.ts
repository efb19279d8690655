import { describe, expect, it } from 'vitest';
import { alarmsText } from '../../../src/cli/candidate-figures.ts';

describe('alarmsText', () => {
  it('A budget of less than one session says that it allows none, and how many sessions would show it', () => {
    const text = alarmsText({ addedSessions: 0, honestSessions: 312 }, 0.002);
    expect(text).toBe(
      'on the rows after the training the model alone stops 0 of 312 honest sessions: in operation up to 1.22 % (95 % interval); ' +
        'the budget of 0.2 % allows none of so few, and 2000 would show that it is kept',
    );
  });

  it('Sessions that are stopped have an interval, and no remark on the budget', () => {
    expect(alarmsText({ addedSessions: 4, honestSessions: 2_000 }, 0.002)).toBe(
      'on the rows after the training the model alone stops 4 of 2000 honest sessions: in operation up to 0.51 % (95 % interval)',
    );
    expect(alarmsText({ addedSessions: 0, honestSessions: 0 }, null)).not.toContain('operation');
  });
});
