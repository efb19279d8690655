import type { Connector, JsonObject, JsonSchema, JsonValue, Operation } from '../../src/extract/base/connector.ts';

/** Renders the catalogue of connectors for docs/connectors.md, in Markdown. */
export function cataloguePage(connectors: readonly Connector[]): string {
  const contents = connectors.map(({ id, title, operations }) => {
    const names = operations.map(({ name }) => `\`${name}\``).join(', ');
    return `| [${title}](#${id}) | \`${id}\` | ${names} |`;
  });
  const head = ['| Connector | Id | Operations |', '| --- | --- | --- |', ...contents];
  return [head.join('\n'), ...connectors.map(connectorPart)].join('\n\n');
}

function connectorPart(connector: Connector): string {
  const { termsUrl, attribution, ratePolicy } = connector.terms;
  const facts = [
    `- Interface: <${connector.docsUrl}>`,
    ...(termsUrl === null ? [] : [`- Terms: <${termsUrl}>`]),
    ...(attribution === null ? [] : [`- Attribution: ${attribution}`]),
    `- Limits: ${ratePolicy}`,
  ];
  return [
    `### ${connector.id}`,
    `${connector.title}. ${connector.description}`,
    facts.join('\n'),
    ...connector.operations.map(operationPart),
  ].join('\n\n');
}

function operationPart({ name, description, input, record, example, tier, paging }: Operation): string {
  const required = (input['required'] ?? []) as readonly string[];
  const inputs = propertiesOf(input).map(([property, schema]) => {
    const choices = ((schema['enum'] ?? []) as readonly string[]).map((choice) => `\`${choice}\``).join(', ');
    const byDefault = 'default' in schema ? ` Default: \`${text(schema['default'])}\`.` : '';
    const told = `${text(schema['description'])}${choices === '' ? '' : ` One of ${choices}.`}${byDefault}`;
    return `| \`${property}\` | ${required.includes(property) ? 'yes' : 'no'} | ${told} |`;
  });
  const fields = propertiesOf(record).map(
    ([property, schema]) => `| \`${property}\` | ${typeOf(schema)} | ${text(schema['description'])} |`,
  );
  return [
    `#### \`${name}\``,
    `${description} Tier \`${tier}\`. ${paging}`,
    ['| Input | Required | Meaning |', '| --- | --- | --- |', ...inputs].join('\n'),
    ['| Field | Type | Meaning |', '| --- | --- | --- |', ...fields].join('\n'),
    `For example \`${JSON.stringify(example.input)}\`.`,
  ].join('\n\n');
}

function propertiesOf(schema: JsonSchema): readonly (readonly [string, JsonObject])[] {
  return Object.entries(schema['properties'] as JsonObject) as [string, JsonObject][];
}

/** Formats a type as `string`, `list of string` or `{name, url}`; all fields except ids may be null. */
function typeOf(schema: JsonObject): string {
  const type = [schema['type']].flat()[0];
  if (type === 'array') return `list of ${typeOf(schema['items'] as JsonObject)}`;
  if (type === 'object' && 'properties' in schema)
    return `{${propertiesOf(schema)
      .map(([name]) => name)
      .join(', ')}}`;
  return text(schema['format'] ?? type);
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value.replaceAll('|', '\\|') : JSON.stringify(value ?? null);
}
