import type { JsonObject, JsonSchema, JsonValue, Operation } from '../../extract/base/connector.ts';
import { CONNECTORS } from '../../extract/connectors/connector-table.ts';
import { connectorJson } from '../../extract/base/job-wire.ts';
import { failure, ok, type CommandOutcome } from '../command-outcome.ts';
import { tableText } from '../text-table.ts';

export function listConnectors(): CommandOutcome {
  const rows = CONNECTORS.map(({ id, title, operations }) => [
    id,
    title,
    operations.map(({ name }) => name).join('\n'),
  ]);
  return ok(
    { connectors: CONNECTORS.map(connectorJson) },
    [tableText(['Connector', 'Source', 'Operations'], rows, ''), 'For details: gatehouse connectors show <id>'].join(
      '\n',
    ),
  );
}

export function showConnector(id: string): CommandOutcome {
  const connector = CONNECTORS.find((one) => one.id === id);
  if (connector === undefined) {
    const ids = CONNECTORS.map((one) => one.id).join(', ');
    return failure('unknown_connector', `there is no connector ${id}; there are ${ids}`);
  }
  const { title, description, docsUrl, terms, operations } = connector;
  const facts = [
    `${title} (${id})`,
    description,
    `Documentation: ${docsUrl}`,
    `Rate policy: ${terms.ratePolicy}`,
    ...(terms.termsUrl === null ? [] : [`Terms: ${terms.termsUrl}`]),
    ...(terms.attribution === null ? [] : [`Attribution: ${terms.attribution}`]),
  ];
  return ok(connectorJson(connector), [...facts, ...operations.map((one) => operationText(id, one))].join('\n'));
}

function operationText(connector: string, operation: Operation): string {
  const { name, description, paging, input, example } = operation;
  const required = input['required'];
  const isRequired = (property: string): boolean => Array.isArray(required) && required.includes(property);
  const rows = propertiesOf(input).map(([property, schema]) => [
    property,
    isRequired(property) ? 'yes' : 'no',
    typeOf(schema),
    folded(told(schema['description'])),
  ]);
  const given = JSON.stringify(example.input).replaceAll("'", String.raw`'\''`);
  return [
    '',
    `${name}: ${description} ${paging}`,
    tableText(['Input', 'Required', 'Type', 'Meaning'], rows, 'No input.'),
    `Record: ${propertiesOf(operation.record)
      .map(([property]) => property)
      .join(', ')}`,
    `Example: gatehouse extract --connector ${connector} --operation ${name} --input '${given}'`,
  ].join('\n');
}

function propertiesOf(schema: JsonSchema): readonly (readonly [name: string, schema: JsonObject])[] {
  return Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>);
}

function typeOf({ type, enum: choices, default: byDefault }: JsonObject): string {
  const named = Array.isArray(choices) ? choices.join('\n') : told(type);
  return byDefault === undefined ? named : `${named}\n(${told(byDefault)} by default)`;
}

function told(value: JsonValue | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Choice: width of the column, in characters; with the other columns, the table fits into a terminal of usual width. */
const MEANING_CHARACTERS = 60;

function folded(text: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > MEANING_CHARACTERS) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}
