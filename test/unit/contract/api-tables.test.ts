import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { idsInTables, withEndpointTables } from '../../../src/contract/api-tables.ts';
import { ENDPOINTS } from '../../../src/contract/endpoints.ts';
import { DECIDE_REQUEST } from '../../../src/contract/requests/decide-request-schema.ts';

const api = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8');

/** Undoes the alignment of table columns, which the formatter adds. */
function unaligned(markdown: string): string {
  return markdown.replaceAll(/-{3,}/g, '---').replaceAll(/ +/g, ' ');
}

test('The table of request fields in docs/api.md has every field of the decide request', () => {
  const section = /\n### Request\n([^]*?)\n### /.exec(api)?.[1] ?? '';
  const fields = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name);
  expect(fields.sort()).toEqual(Object.keys(DECIDE_REQUEST.shape).sort());
});

describe('the tables of calls in docs/api.md', () => {
  test('The call tables of docs/api.md match the table of endpoints (npm run write:openapi updates them)', () => {
    expect(unaligned(api)).toBe(unaligned(withEndpointTables(api)));
  });

  test('The call tables of docs/api.md contain each endpoint with a guide text exactly once', () => {
    const written = Object.entries(ENDPOINTS).flatMap(([id, { guide }]) => (guide === undefined ? [] : [id]));
    expect([...idsInTables(api)].sort()).toEqual(written.sort());
  });

  test('All call tables of docs/api.md are generated', () => {
    const outside = api.replaceAll(/<!-- endpoints:[^]*?<!-- \/endpoints -->/g, '');
    expect(outside).not.toMatch(/^\| Call +\|/m);
  });

  test('An endpoint that no call table names is added to the first table of its tag', () => {
    const without = api.replace('<!-- endpoints: findDecision ', '<!-- endpoints: ');
    expect(without).not.toBe(api);
    const ids = idsInTables(withEndpointTables(without));
    expect(ids.slice(0, ids.indexOf('findDecision'))).not.toContain('listEntries');
    expect([...ids].sort()).toEqual([...idsInTables(api)].sort());
  });

  test('Generating the call tables throws for an endpoint that does not exist', () => {
    expect(() => withEndpointTables('<!-- endpoints: nothing -->\n<!-- /endpoints -->')).toThrow(/nothing/);
  });
});
