import { hit, withThresholds } from './rule.ts';

/**
 * Fires when a session had over 110 events in 10 min, or over 240 in 1 h: a slow scraper.
 *
 * Quiet for people who press reload: 110 is one every 5 s for 10 min. Source of numbers and weight: the default rules.
 */
export const sessionPages = withThresholds({
  code: 'session_pages',
  family: 'session_volume',
  weights: { default: 0.56 },
  thresholds: { events10m: 110, events1h: 240 },
  hint: 'the session has more pages than a person reads',
  quietedBy: 'occasional reloads',
  evaluate({ history }, _policy, { events10m, events1h }) {
    const pages = history?.session.pages ?? null;
    if (pages === null) return null;
    if (pages.events10m > events10m)
      return hit(`${pages.events10m} events of the session in 10 min (over ${events10m})`);
    if (pages.events1h > events1h) return hit(`${pages.events1h} events of the session in 1 h (over ${events1h})`);
    return null;
  },
});
