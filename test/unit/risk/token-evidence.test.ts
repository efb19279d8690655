import { expect, test } from 'vitest';
import { bandsFor } from '../../../src/risk/fuse.ts';
import { DEFAULT_POLICY } from '../../../src/risk/policy/policy.ts';
import { RULES } from '../../../src/risk/rules/rule-table.ts';

/** Rules that a collector token alone can cause to fire, whatever the rest of the request contains. */
const TOKEN_FED = new Set([
  'device_headless',
  'device_automation',
  'device_scripted_input',
  'device_agent_contradiction',
  'device_timezone_mismatch',
  'session_token_old',
]);

test("The content of a client's token never causes a BLOCK by itself", () => {
  const strongest = new Map<string, number>();
  for (const { code, family, weights } of RULES) {
    if (TOKEN_FED.has(code)) strongest.set(family, Math.max(strongest.get(family) ?? 0, ...Object.values(weights)));
  }
  expect(strongest.size).toBe(3);
  const score = 100 * (1 - [...strongest.values()].reduce((calm, weight) => calm * (1 - weight), 1));
  const lowest = Math.min(
    ...Object.keys(DEFAULT_POLICY.eventTypeBands).map((type) => bandsFor(type, DEFAULT_POLICY).block),
    DEFAULT_POLICY.bands.block,
  );
  expect(score).toBeLessThan(lowest);
});
