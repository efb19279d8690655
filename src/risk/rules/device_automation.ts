import { hit, type Rule } from './rule.ts';
import { automationTraces } from './support/automation-traces.ts';

/**
 * Fires on traces of automation that the collector found in the browser. docs/collector.md lists the codes with their false alarms.
 *
 * Choice of weights: a driver's own names as much as `device_headless`; two traces with different causes a challenge; one trace at most
 * ALLOW_WATCH, and less where honest browsers have it by thousands (virtual machines, kiosks, password managers). Never BLOCK: the client
 * writes the token. The family is `client`, like for everything that a browser says about itself: only the strongest counts.
 */
export const deviceAutomation: Rule = {
  code: 'device_automation',
  family: 'client',
  weights: { default: 0.5, driver: 0.7, one: 0.3, frequent: 0.1 },
  hint: 'the browser shows traces of automation',
  quietedBy: 'unknown codes; traces that apps leave in their web views',
  evaluate({ token }) {
    const traces = automationTraces(token);
    if (traces === null) return null;
    return hit(traces.codes.join(', '), traces.strength === 'several' ? 'default' : traces.strength);
  },
};
