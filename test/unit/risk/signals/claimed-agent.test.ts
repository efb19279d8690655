import { describe, expect, test } from 'vitest';
import { NAME_CHECKS } from '../../../../src/risk/signals/agent-operators.ts';
import { agentOfNumber, agentProofOf, claimedAgent } from '../../../../src/risk/signals/claimed-agent.ts';

const GOOGLEBOT = claimedAgent('Mozilla/5.0 (compatible; Googlebot/2.1)');
const APPLEBOT = claimedAgent('Mozilla/5.0 (compatible; Applebot/0.3; +http://www.apple.com/go/applebot)');
const LOADED = new Set(['google']);

describe('what an address proves about a crawler', () => {
  const { confirmed, refuted, unknown } = NAME_CHECKS;
  test.each([
    // Published ranges precede the name, whatever that is.
    [GOOGLEBOT, 'google', 0, 'range'],
    [GOOGLEBOT, 'google', refuted, 'range'],
    [GOOGLEBOT, undefined, confirmed, 'dns'],
    [GOOGLEBOT, 'bing', confirmed, 'dns'],
    [GOOGLEBOT, undefined, 0, 'none'],
    [GOOGLEBOT, undefined, unknown, 'none'],
    // No ranges of the operator are loaded.
    [APPLEBOT, undefined, 0, null],
    [APPLEBOT, undefined, unknown, null],
    [APPLEBOT, undefined, refuted, 'none'],
    [APPLEBOT, undefined, confirmed, 'dns'],
    [APPLEBOT, 'apple', 0, null],
  ])('%j in ranges of %s with the answer %i is %s', (claimed, operator, named, verified) => {
    if (claimed === null) throw new Error('the agent names no crawler');
    expect(agentProofOf(claimed, operator, LOADED, named)?.verified ?? null).toBe(verified);
  });

  test('Applebot is kept by decisions under a number of its own', () => {
    expect(agentOfNumber(APPLEBOT?.number ?? 0)).toMatchObject({
      name: 'Applebot',
      operator: 'apple',
      purpose: 'search',
    });
  });
});
