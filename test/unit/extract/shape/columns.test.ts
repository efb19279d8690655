import { describe, expect, test } from 'vitest';
import { CONNECTORS } from '../../../../src/extract/connectors/connector-table.ts';
import { columnsOf } from '../../../../src/extract/shape/columns.ts';
import { parseOutput } from '../../../../src/extract/shape/output-options.ts';

function jobOf(connector: string, operation: string, input: object = {}): Parameters<typeof columnsOf>[0] {
  const output = parseOutput({});
  if (output.kind === 'faults') throw new Error('no output');
  return { connector, operation, input: { ...input }, output: output.output };
}

describe('columnsOf', () => {
  test('CSV has the columns of the operation of the connector', () => {
    const items = columnsOf(jobOf('feed', 'feed.items'), 'csv', CONNECTORS);
    const article = columnsOf(jobOf('generic', 'page.article'), 'csv', CONNECTORS);
    expect(JSON.stringify(items)).toContain('"id"');
    expect(JSON.stringify(article)).toContain('"text"');
    expect(JSON.stringify(article)).not.toEqual(JSON.stringify(items));
  });

  test('CSV has the columns of the fields that the input names', () => {
    const input = { url: 'x.example', fields: { name: 'b', price: { select: 'i', type: 'money' } } };
    const columns = columnsOf(jobOf('generic', 'page.select', input), 'csv', CONNECTORS);
    expect(columns.map(({ name }) => name)).toEqual(['name', 'price.amount', 'price.currency']);
  });

  test('without the connector or the operation, only the columns of all records remain', () => {
    // The writer adds those itself.
    expect(columnsOf(jobOf('gone', 'feed.items'), 'csv', CONNECTORS)).toEqual([]);
    expect(columnsOf(jobOf('feed', 'page.article'), 'csv', CONNECTORS)).toEqual([]);
  });

  test('other formats have none', () => {
    expect(columnsOf(jobOf('feed', 'feed.items'), 'ndjson', CONNECTORS)).toEqual([]);
  });
});
