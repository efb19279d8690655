import { type FieldError, problem, type Problem } from '../../contract/problem.ts';
import {
  COLLECT_LIMIT_DEFAULT,
  EXTRACTION_REQUEST,
  type GivenCollect,
  NO_SUCH_SESSION_MESSAGE,
} from '../../contract/requests/extraction-requests.ts';
import type { Collect, ExtractionDelivery, OutputOptions } from '../../work/extraction-job.ts';
import { invalid, validate, type Validated } from '../../contract/validate.ts';
import { operationFor, type Connector, type JsonObject, type Operation, type Step } from '../base/connector.ts';
import { type Destination, readDelivery } from './delivery-request.ts';
import { blockedInputs, readInput } from './job-input.ts';
import type { CheckTarget } from './request-target.ts';
import { parseOutput } from '../shape/output-options.ts';
import { createShaper } from '../shape/shaper.ts';

/** What an extraction request is checked against. */
export interface RequestParts {
  readonly connectors: readonly Connector[];
  readonly checkTarget: CheckTarget;
}

/** A request that can be run, as far as that is known before the first fetch. */
export interface CheckedRequest {
  readonly connector: Connector;
  /** As it is for the input. */
  readonly operation: Operation;
  /** Matches the operation's schema. */
  readonly input: JsonObject;
  readonly collect: Collect;
  readonly output: OutputOptions;
  /** Has the form of a session id. The store decides whether the session exists. */
  readonly session: string | null;
  readonly delivery: ExtractionDelivery;
  readonly deliverySecrets: Destination['secrets'];
  /** The secret generated for the webhook, shown once; null if the caller supplied one. */
  readonly newSecret: string | null;
  readonly steps: readonly Step[];
}

/** Source: contract, 11.5. */
export const SYNC_RECORDS_MAX = 1_000;

/** The same error for a text that is not an id as for a session that does not exist. */
export const NO_SUCH_SESSION = {
  pointer: '/session',
  code: 'invalid_value',
  message: NO_SUCH_SESSION_MESSAGE,
} as const satisfies FieldError;

/** `output` is checked by itself, because its errors go with those of the other fields. */
const ENVELOPE = EXTRACTION_REQUEST.omit({ output: true });

/**
 * Checks a request body and returns what to run, or the error. The order is: fields and their formats, the catalogue, the operation's check
 * of its input, the addresses that this service must not reach, and the limit of inline responses. Nothing is fetched or looked up for it.
 * Source: contract, 11.1.
 */
export function checkRequest(body: unknown, parts: RequestParts): Validated<CheckedRequest> {
  const read = validate(ENVELOPE, body);
  const output = parseOutput(memberOf(body, 'output'));
  if (read.kind === 'problem' || output.kind === 'faults') {
    const errors = read.kind === 'problem' ? (read.problem.errors ?? []) : [];
    return invalid([...errors, ...(output.kind === 'faults' ? output.errors : [])].slice(0, FIELD_ERRORS_MAX));
  }
  const { value } = read;
  const found = findOperation(value.connector, value.operation, parts.connectors);
  if (found.kind === 'problem') return found;
  const { connector, operation } = found.value;

  const input = readInput(value.input, operation);
  const forInput = input.kind === 'ok' ? operationFor(operation, input.input) : operation;
  // Without an accepted input, the records of some operations are unknown, and so are their fields.
  const isUnknown = input.kind === 'faults' && operation.forInput !== undefined;
  const shaper = createShaper(
    isUnknown ? { ...output.output, fields: null, rename: {} } : output.output,
    forInput.record,
  );
  const destination = readDelivery(value.delivery ?? { type: 'store' }, parts.checkTarget);
  const collect = collectOf(value.collect ?? {});
  const errors: readonly FieldError[] = [
    ...(input.kind === 'faults' ? input.errors : []),
    ...(shaper.kind === 'faults' ? shaper.errors : []),
    ...(destination.kind === 'faults' ? destination.errors : []),
  ];
  if (input.kind === 'faults' || destination.kind === 'faults' || errors.length > 0) {
    return invalid(errors.slice(0, FIELD_ERRORS_MAX));
  }
  const blocked = [...blockedInputs(input.input, parts.checkTarget), ...destination.blocked];
  if (blocked.length > 0) {
    return refused(problem('blocked_url', 'The service is not allowed to reach this URL.', { errors: blocked }));
  }
  const { delivery, secrets: deliverySecrets, newSecret } = destination.destination;
  if (delivery.kind === 'sync' && collect.mode === 'limit' && collect.limit > SYNC_RECORDS_MAX) {
    return refused(syncLimitExceeded('/collect/limit'));
  }
  return {
    kind: 'ok',
    value: {
      connector,
      operation: forInput,
      input: input.input,
      collect,
      output: output.output,
      session: value.session ?? null,
      delivery,
      deliverySecrets,
      newSecret,
      steps: input.steps,
    },
  };
}

/** The same error wherever the limit is exceeded. Source: contract, 11.5. */
export function syncLimitExceeded(pointer: '/collect' | '/collect/limit'): Problem {
  const errors = [
    { pointer, code: 'too_large', message: `At most ${SYNC_RECORDS_MAX} records can be returned inline.` },
  ];
  const detail = `An inline response has at most ${SYNC_RECORDS_MAX} records. Run this job without delivery of type sync.`;
  return problem('sync_limit_exceeded', detail, { errors });
}

/** Choice: as many as other error responses list. */
const FIELD_ERRORS_MAX = 32;

function findOperation(
  connectorId: string,
  name: string,
  connectors: readonly Connector[],
): Validated<{ readonly connector: Connector; readonly operation: Operation }> {
  const connector = connectors.find(({ id }) => id === connectorId);
  if (connector === undefined) {
    const errors = [{ pointer: '/connector', code: 'unknown_connector', message: 'GET /v1/connectors lists them.' }];
    return refused(problem('unknown_connector', 'There is no such connector.', { errors }));
  }
  const operation = connector.operations.find((one) => one.name === name);
  if (operation === undefined) {
    const message = `GET /v1/connectors/${connector.id} lists its operations.`;
    const errors = [{ pointer: '/operation', code: 'unknown_operation', message }];
    return refused(problem('unknown_operation', 'The connector has no such operation.', { errors }));
  }
  return { kind: 'ok', value: { connector, operation } };
}

function collectOf({ mode, limit }: GivenCollect): Collect {
  return mode === 'all' ? { mode } : { mode: 'limit', limit: limit ?? COLLECT_LIMIT_DEFAULT };
}

function memberOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>)[name] : undefined;
}

function refused(fault: Problem): Validated<never> {
  return { kind: 'problem', problem: fault };
}
