import { hit, withThresholds } from './rule.ts';

/**
 * Fires when the gaps between the last 8 or more events of a session vary by under 10 % (standard deviation by mean): people do not click
 * like a clock. Quiet with fewer events. Source of numbers and weight: the default rules; a page that polls at fixed intervals has the same
 * rhythm.
 */
export const velocityMachineRhythm = withThresholds({
  code: 'velocity_machine_rhythm',
  family: 'session_volume',
  weights: { default: 0.3 },
  thresholds: { events: 8, variationMax: 0.1 },
  hint: 'the session has the regular rhythm of a machine',
  quietedBy: 'fewer events',
  evaluate({ history }, _policy, { events, variationMax }) {
    const rhythm = history?.session.rhythm ?? null;
    if (rhythm === null || !(rhythm.events >= events) || !(rhythm.variation < variationMax)) return null;
    return hit(`the intervals between ${rhythm.events} events vary by ${(rhythm.variation * 100).toFixed(1)} %`);
  },
});
