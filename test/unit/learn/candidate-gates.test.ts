import { describe, expect, it } from 'vitest';
import { candidateGates } from '../../../src/learn/candidate-gates.ts';

describe('candidateGates', () => {
  const alarms = (added: number, honest: number) => {
    const shares = { rulesCatch: 0.5, modelCatch: 0.5, bothCatch: 0.6, rulesAlarms: 0, addedAlarms: added / honest };
    const [gate] = candidateGates(
      { group: 'all', frauds: 40, honest, ...shares },
      { budget: 0.002, isShadowOnly: false },
    );
    return gate;
  };

  it('Alarms above the budget by chance hold, and those that are surely above it fail', () => {
    expect(alarms(14, 6_700)).toEqual({
      name: 'alarms',
      holds: true,
      detail: '+0.21 points of honest sessions (95 % interval +0.12 to +0.35), not surely more than +0.20',
    });
    expect(alarms(30, 6_700)).toMatchObject({ holds: false });
    expect(alarms(0, 700)).toMatchObject({ holds: true });
    expect(alarms(7, 700)).toMatchObject({ holds: false });
  });
});
