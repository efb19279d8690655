import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { policyJsonSchema } from '../../../../src/risk/policy/policy-schema.ts';
import { RULES } from '../../../../src/risk/rules/rule-table.ts';

const PUBLISHED = new URL('../../../../docs/policy.schema.json', import.meta.url);

describe('the published schema of policy files', () => {
  test('The published schema is the one that files are validated with: scripts/update-policy-schema.ts writes it', () => {
    expect(JSON.parse(readFileSync(PUBLISHED, 'utf8'))).toEqual(JSON.parse(JSON.stringify(policyJsonSchema())));
  });

  test('The published schema names every rule that may be switched off, and no list', () => {
    const { $defs } = policyJsonSchema() as { $defs: { rules_off: { items: { enum: string[] } } } };
    const codes = RULES.filter(({ family }) => family !== 'list').map(({ code }) => code);
    expect($defs.rules_off.items.enum).toEqual(codes);
  });

  test('The published schema allows no unknown names', () => {
    const { $defs, ...top } = policyJsonSchema() as Record<string, unknown> & { $defs: Record<string, unknown> };
    expect(top['$schema']).toBe('https://json-schema.org/draft/2020-12/schema');
    expect(top['additionalProperties']).toBe(false);
    for (const name of ['bands', 'weights', 'thresholds', 'part', 'scope']) {
      expect($defs[name]).toMatchObject({ additionalProperties: false });
    }
  });
});
