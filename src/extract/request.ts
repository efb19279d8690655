import * as z from 'zod';
import { type FieldError, problem, type Problem } from '../base/problem.ts';
import type { Collect, ExtractionDelivery, OutputOptions } from '../core/extraction.ts';
import { invalid, text, validate, type Validated } from '../manage/validate.ts';
import type { Connector, JsonObject, Operation, Step } from './connector.ts';
import { type Destination, DELIVERY, readDelivery } from './request/delivery.ts';
import { blockedInputs, readInput } from './request/input.ts';
import type { CheckTarget } from './request/target.ts';
import { parseOutput } from './shape/output-options.ts';
import { createShaper } from './shape/shaper.ts';
import { isSessionId } from './wire.ts';

/** What a request for an extraction is checked against. */
export interface RequestParts {
  readonly connectors: readonly Connector[];
  readonly checkTarget: CheckTarget;
  /** An operator's bound of what a job may gather. */
  readonly recordsMax: number;
}

/** A request that can be run, as far as that can be told before the first fetch. */
export interface CheckedRequest {
  readonly connector: Connector;
  readonly operation: Operation;
  /** It holds to the operation's schema. */
  readonly input: JsonObject;
  readonly collect: Collect;
  readonly output: OutputOptions;
  /** Of a session's form; whether there is such a session is for the store to say. */
  readonly session: string | null;
  readonly delivery: ExtractionDelivery;
  readonly deliverySecrets: Destination['secrets'];
  /** The secret that was made for the webhook, shown once; null where the caller has one. */
  readonly newSecret: string | null;
  readonly steps: readonly Step[];
}

/** Source: open points, section 5. */
const COLLECT_LIMIT_MAX = 100_000;
/** Source: extraction specification, section 8. */
const COLLECT_LIMIT_DEFAULT = 100;
/** Source: extraction specification, 4.1. */
export const SYNC_RECORDS_MAX = 1_000;
/** Choice: far longer than any name in the catalogue. */
const NAME_CHARACTERS_MAX = 100;

/** The same for a text that is no id as for a session that is not there. */
export const NO_SUCH_SESSION = {
  pointer: '/session',
  code: 'invalid_value',
  message: 'There is no such session.',
} as const satisfies FieldError;

const ENVELOPE = z.object({
  connector: text(NAME_CHARACTERS_MAX),
  operation: text(NAME_CHARACTERS_MAX),
  input: z.record(z.string(), z.unknown()),
  collect: z
    .object({
      mode: z.enum(['limit', 'all']).nullish(),
      limit: z.int().min(1).max(COLLECT_LIMIT_MAX).nullish(),
    })
    .check(findLimitOfAll)
    .nullish(),
  session: z.string().refine(isSessionId, { message: NO_SUCH_SESSION.message }).nullish(),
  delivery: DELIVERY.nullish(),
});

/**
 * The body of a request → what is to be run, or the refusal: fields and their forms first, then the catalogue, then what the
 * operation says of its input, then what this service may not reach, then the bound of inline answers. Nothing is fetched or
 * looked up for it. Source: extraction specification, 2.1; open points, section 5.
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
  const shaper = createShaper(output.output, operation.record);
  const destination = readDelivery(value.delivery ?? { type: 'store' }, parts.checkTarget);
  const collect = collectOf(value.collect ?? {});
  const errors: readonly FieldError[] = [
    ...limitErrors(collect, parts.recordsMax),
    ...(input.kind === 'faults' ? input.errors : []),
    ...(shaper.kind === 'faults' ? shaper.errors : []),
    ...(destination.kind === 'faults' ? destination.errors : []),
  ];
  if (input.kind === 'faults' || destination.kind === 'faults' || errors.length > 0) {
    return invalid(errors.slice(0, FIELD_ERRORS_MAX));
  }
  const blocked = [...blockedInputs(input.input, parts.checkTarget), ...destination.blocked];
  if (blocked.length > 0) {
    return refused(problem('blocked_url', 'The service may not reach this URL.', { errors: blocked }));
  }
  const { delivery, secrets: deliverySecrets, newSecret } = destination.destination;
  if (delivery.kind === 'sync' && collect.mode === 'limit' && collect.limit > SYNC_RECORDS_MAX) {
    return refused(syncLimitExceeded('/collect/limit'));
  }
  return {
    kind: 'ok',
    value: {
      connector,
      operation,
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

/** The same wherever it turns out. Source: extraction specification, 4.1. */
export function syncLimitExceeded(pointer: '/collect' | '/collect/limit'): Problem {
  const errors = [{ pointer, code: 'too_large', message: `At most ${SYNC_RECORDS_MAX} records go inline.` }];
  const detail = `An inline answer has at most ${SYNC_RECORDS_MAX} records. Run this job without delivery of type sync.`;
  return problem('sync_limit_exceeded', detail, { errors });
}

/** Choice: as many as other refusals name. */
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

interface GivenCollect {
  readonly mode?: 'limit' | 'all' | null | undefined;
  readonly limit?: number | null | undefined;
}

function collectOf({ mode, limit }: GivenCollect): Collect {
  return mode === 'all' ? { mode } : { mode: 'limit', limit: limit ?? COLLECT_LIMIT_DEFAULT };
}

/** Choice: refused at once, because a job that cannot reach its limit would fail at the end. */
function limitErrors(collect: Collect, recordsMax: number): readonly FieldError[] {
  if (collect.mode === 'all' || collect.limit <= recordsMax) return [];
  return [{ pointer: '/collect/limit', code: 'too_large', message: `This must be at most ${recordsMax}.` }];
}

/** Choice: refused, because whoever writes a limit does not expect a million records. */
function findLimitOfAll(context: z.core.ParsePayload<GivenCollect>): void {
  const { mode, limit } = context.value;
  if (mode !== 'all' || limit === null || limit === undefined) return;
  const message = 'This goes with the mode limit alone.';
  context.issues.push({ code: 'custom', message, path: ['limit'], input: context.value });
}

function memberOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>)[name] : undefined;
}

function refused(fault: Problem): Validated<never> {
  return { kind: 'problem', problem: fault };
}
