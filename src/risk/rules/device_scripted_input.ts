import { hit, withThresholds } from './rule.ts';
import { scriptedRhythm } from './support/automation-traces.ts';

/**
 * Fires when the keys on the page were pressed faster than people can type, or more evenly. Source of the numbers: people press keys 80 to
 * 250 ms apart, the fastest typists 40 ms on average, and their gaps differ by a fifth or more.
 * Measured (Chromium 150, playwright): scripts without a delay 3 to 7 ms ± 2 to 7, with a delay of 7 ms 11 to 14 ms ± 1 to 6. With a delay
 * of 100 ms on a busy machine 114 ms ± 15, which is not detected.
 *
 * False alarms: barcode scanners, text expanders and macro keyboards send keys as programs do; hence the weight. Quiet without a collector
 * token, and where text is dictated, pasted or filled in, because then no keys are pressed.
 */
export const deviceScriptedInput = withThresholds({
  code: 'device_scripted_input',
  family: 'client',
  weights: { default: 0.3 },
  thresholds: { gaps: 10, meanMsMax: 35, evenGaps: 20, evenPercentMax: 5 },
  hint: 'the keys were pressed as programs press them',
  quietedBy: 'no collector token; dictated, pasted or filled-in text',
  evaluate({ token }, _policy, thresholds) {
    const found = scriptedRhythm(token, thresholds);
    return found === null ? null : hit(found);
  },
});
