import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { FieldError } from '../../contract/problem.ts';
import { egressPolicy } from '../../egress/public-address.ts';
import { checkTarget } from '../../egress/egress-target.ts';
import type { Connector, JsonObject, Operation } from '../../extract/base/connector.ts';
import { checkRequest, type CheckedRequest } from '../../extract/request/read-request.ts';
import type { Settings } from '../../app/settings.ts';
import { usage, type CommandOutcome } from '../command-outcome.ts';
import type { ExtractOptions } from './options.ts';

export type ReadRequest =
  | { readonly kind: 'request'; readonly request: CheckedRequest }
  | { readonly kind: 'wrong'; readonly outcome: CommandOutcome };

/** Converts the command line to a request as the service would accept it, or reports what is wrong and how to fix it. */
export async function readRequest(
  options: ExtractOptions,
  connectors: readonly Connector[],
  { egressAllow }: Pick<Settings, 'egressAllow'>,
  stdin: Readable,
): Promise<ReadRequest> {
  const found = findOperation(options, connectors);
  if ('kind' in found) return found;
  const { connector, operation } = found;
  const given = await readInputText(options.input, stdin);
  if (given.kind === 'fault') return wrong('invalid_input', given.message, [], hintsOf(connector, operation));
  const collect = collectOf(options);
  if (collect === null) return wrong('usage', '--limit must be a whole number from 1 to 100000; use --all for more');
  const body = {
    connector: connector.id,
    operation: operation.name,
    input: given.input,
    collect,
    output: { ...(options.fields !== undefined && { fields: listOf(options.fields) }) },
  };
  const policy = egressPolicy(egressAllow);
  const checked = checkRequest(body, { connectors, checkTarget: (url) => checkTarget(url, policy) });
  if (checked.kind === 'ok') return { kind: 'request', request: checked.value };
  const { code, detail, errors = [] } = checked.problem;
  const message = code === 'validation_failed' ? 'the request is not valid' : detail;
  return wrong(code, message, errors, adviceOf(code, errors, connector, operation));
}

function findOperation(
  { connector: id, operation: name }: ExtractOptions,
  connectors: readonly Connector[],
): { readonly connector: Connector; readonly operation: Operation } | Extract<ReadRequest, { kind: 'wrong' }> {
  const connector = connectors.find((one) => one.id === id);
  if (connector === undefined) {
    const ids = connectors.map((one) => one.id).join(', ');
    return wrong(
      'unknown_connector',
      `there is no connector ${id}; there are ${ids}`,
      [],
      ['For details: gatehouse connectors list'],
    );
  }
  const operation = connector.operations.find((one) => one.name === name);
  if (operation !== undefined) return { connector, operation };
  const names = connector.operations.map((one) => one.name).join(', ');
  const message = name === undefined ? `--operation is missing` : `${id} has no operation ${name}`;
  return wrong(
    'unknown_operation',
    `${message}; ${id} has ${names}`,
    [],
    [`For details: gatehouse connectors show ${id}`],
  );
}

/** Choice: the maximum size of a request's body. */
const INPUT_BYTES_MAX = 262_144;

type Input =
  | { readonly kind: 'input'; readonly input: JsonObject }
  | { readonly kind: 'fault'; readonly message: string };

async function readInputText(given: string | undefined, stdin: Readable): Promise<Input> {
  if (given === undefined) return { kind: 'fault', message: '--input is missing' };
  let text: string;
  try {
    if (given === '-') text = (await buffer(stdin)).toString('utf8');
    else text = given.startsWith('@') ? readFileSync(given.slice(1), 'utf8') : given;
  } catch (error) {
    return {
      kind: 'fault',
      message: `--input cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  if (text.length > INPUT_BYTES_MAX)
    return { kind: 'fault', message: `--input is longer than ${INPUT_BYTES_MAX} bytes` };
  try {
    const input = JSON.parse(text) as JsonObject;
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return { kind: 'input', input };
    return { kind: 'fault', message: '--input must be a JSON object' };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { kind: 'fault', message: `--input is not valid JSON: ${detail}. Put it in single quotes` };
  }
}

/** Returns null if the text is no number. The request check verifies the limit's range. */
function collectOf({ limit, all }: ExtractOptions): object | null {
  if (all === true) return { mode: 'all' };
  if (limit === undefined) return {};
  return /^\d{1,9}$/.test(limit) ? { mode: 'limit', limit: Number(limit) } : null;
}

function listOf(text: string): readonly string[] {
  return text.split(',').map((name) => name.trim());
}

function adviceOf(
  code: string,
  errors: readonly FieldError[],
  connector: Connector,
  operation: Operation,
): readonly string[] {
  if (code === 'blocked_url') {
    return [
      'Only public addresses can be reached. Use GATEHOUSE_EGRESS_ALLOW to allow your own networks, for example 127.0.0.0/8.',
    ];
  }
  if (errors.some(({ pointer }) => pointer.startsWith('/output/fields'))) {
    return [`--fields may contain ${Object.keys(operation.record['properties'] ?? {}).join(', ')}.`];
  }
  return errors.some(({ pointer }) => pointer.startsWith('/input')) ? hintsOf(connector, operation) : [];
}

function hintsOf(connector: Connector, operation: Operation): readonly string[] {
  return [
    `For example: --input '${JSON.stringify(operation.example.input).replaceAll("'", String.raw`'\''`)}'`,
    `For its input: gatehouse connectors show ${connector.id}`,
  ];
}

function wrong(
  code: string,
  message: string,
  errors: readonly FieldError[] = [],
  hints: readonly string[] = [],
): Extract<ReadRequest, { kind: 'wrong' }> {
  return { kind: 'wrong', outcome: usage(code, message, { errors, hints }) };
}
