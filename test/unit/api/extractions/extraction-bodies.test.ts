import { expect, test } from 'vitest';
import { extractionBody } from '../../../../src/api/extractions/extraction-bodies.ts';
import { readBodyAnywhere } from '../../../../src/api/kit/request-body.ts';
import { CONNECTORS } from '../../../../src/extract/connectors/connector-table.ts';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';

const READER = extractionBody({ connectors: CONNECTORS, checkTarget: () => null });

/** Returns the name of the reader that the worker was asked for; null for a body that was read on this thread. */
async function remoteReaderOf(output: object | undefined): Promise<string | null> {
  const request = { connector: 'openlibrary', operation: 'search.works', input: { query: 'bread' }, output };
  let name: string | null = null;
  const remote = {
    read: (_customer: CustomerNumber, reader: { readonly name: string }) => {
      ({ name } = reader);
      return Promise.resolve({ kind: 'read', value: null, ignored: [] } as const);
    },
  };
  await readBodyAnywhere(READER, new Uint8Array(Buffer.from(JSON.stringify(request))), 0, 1 as CustomerNumber, remote);
  return name;
}

test('A request with a schema is read by the worker at any size, because compiling its patterns takes long', async () => {
  expect(await remoteReaderOf({ schema: { properties: { title: { pattern: '^a$' } } } })).toBe('extraction');
  expect(await remoteReaderOf({ schema: true })).toBe('extraction');
});

test('A small request without a schema is read on the main thread', async () => {
  for (const output of [undefined, {}, { schema: null }, { fields: ['title'] }]) {
    expect(await remoteReaderOf(output)).toBeNull();
  }
});
