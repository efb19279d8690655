import { describe, expect, test } from 'vitest';
import { listConnectors, showConnector } from '../../../src/cli/extract/connector-list.ts';
import type { CommandOutcome } from '../../../src/cli/command-outcome.ts';
import { CONNECTORS } from '../../../src/extract/connectors/connector-table.ts';

function done(outcome: CommandOutcome): { readonly text: string; readonly json: Record<string, unknown> } {
  if (outcome.kind === 'error') throw new Error(outcome.message);
  return { text: outcome.text, json: outcome.json as Record<string, unknown> };
}

describe('the catalogue on the command line', () => {
  test('connectors list prints every connector with its operations', () => {
    const { text, json } = done(listConnectors());
    expect((json['connectors'] as { readonly id: string }[]).map(({ id }) => id)).toEqual(
      CONNECTORS.map(({ id }) => id),
    );
    for (const { id, operations } of CONNECTORS)
      for (const name of [id, operations[0]?.name]) expect(text).toContain(name);
  });

  test.each(CONNECTORS.map(({ id }) => id))(
    'connectors show %s prints every input, every field of a record and an example to paste',
    (id) => {
      const { text, json } = done(showConnector(id));
      expect(json).toMatchObject({ id, operations: expect.any(Array) });
      for (const { name, input, record, example } of CONNECTORS.find((one) => one.id === id)?.operations ?? []) {
        for (const schema of [input, record]) {
          for (const property of Object.keys(schema['properties'] ?? {})) expect(text).toContain(property);
        }
        const pasted = text.split('\n').find((line) => line.includes(`--connector ${id} --operation ${name} `)) ?? '';
        const given = /--input '(.*)'$/.exec(pasted)?.[1] ?? '';
        expect(JSON.parse(given.replaceAll(String.raw`'\''`, "'"))).toEqual(example.input);
      }
      for (const line of text.split('\n').filter((one) => one.startsWith('│'))) expect(line.length).toBeLessThan(140);
    },
  );

  test('connectors show lists the existing connectors when the name is unknown', () => {
    const outcome = showConnector('nope');
    expect(outcome).toMatchObject({
      kind: 'error',
      code: 'unknown_connector',
      message: expect.stringContaining('github'),
    });
  });
});
