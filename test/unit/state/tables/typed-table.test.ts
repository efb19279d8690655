import { expect, test } from 'vitest';
import * as z from 'zod';
import { pack } from '../../../../src/kernel/pack.ts';
import { durably } from '../../../../src/state/tables/durable.ts';
import { table as openTable } from '../../../../src/state/tables/environment.ts';
import { codec, typedTable, u32Form } from '../../../../src/state/tables/typed-table.ts';
import { sumFits } from '../../../../src/state/tables/value.ts';
import { customer, tempStore, value } from '../support.ts';

const SCHEMA = z.object({ name: z.string(), size: z.number() });
const SECOND = codec(SCHEMA, 2, { 1: (old) => ({ ...(old as object), size: 0 }) });

test('A value of an older version is read as one of the present version', () => {
  const first = codec(z.object({ name: z.string() }), 1);
  expect(SECOND.decode(first.encode({ name: 'a' }))).toEqual({ name: 'a', size: 0 });
  expect(SECOND.decode(SECOND.encode({ name: 'b', size: 5 }))).toEqual({ name: 'b', size: 5 });
  expect(SECOND.encode({ name: 'b', size: 5 })[0]).toBe(2);
});

test('A value of a newer or unknown version and a value of a wrong form are errors', () => {
  const third = codec(SCHEMA, 3);
  expect(() => SECOND.decode(third.encode({ name: 'a', size: 1 }))).toThrow('version 3, and this build reads 2');
  expect(() => codec(SCHEMA, 2).decode(codec(SCHEMA, 1).encode({ name: 'a', size: 1 }))).toThrow('version 1');
  expect(() => SECOND.decode(Buffer.concat([Buffer.from([2]), pack([{ name: 5 }])]))).toThrow();
});

test('A table stores typed rows with a checksum, in the order of their keys, and counts the rows of each customer', async () => {
  const { state: env, tables } = tempStore();
  const counted = { by: tables.rowCounters, as: 'audit' } as const;
  const rows = typedTable({ database: openTable(env, 'customers'), key: u32Form(), value: SECOND, counted });
  const wrote = await value(
    durably(env, () => [3, 1, 1].map((key) => rows.put(key, { name: `n${key}`, size: key })).concat(rows.remove(9))),
  );
  expect(wrote).toEqual([true, true, false, false]);
  expect([...rows.range({})]).toEqual([
    [1, { name: 'n1', size: 1 }],
    [3, { name: 'n3', size: 3 }],
  ]);
  for (const { key, value: stored } of rows.database.getRange()) expect(sumFits(key, stored)).toBe(true);
  expect([rows.get(3)?.name, rows.get(2), rows.rowsOf(customer(1)), rows.rowsOf(customer(2))]).toEqual([
    'n3',
    null,
    1,
    0,
  ]);
  expect(await value(durably(env, () => rows.remove(1)))).toBe(true);
  expect([[...rows.keys({})].length, rows.rowsOf(customer(1))]).toEqual([1, 0]);
});
