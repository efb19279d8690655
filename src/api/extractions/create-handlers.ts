import { unreachable } from '../../kernel/brand.ts';
import { problem } from '../../contract/problem.ts';
import type { AnyRequest, EndpointResponse, EndpointHandler } from '../kit/endpoint-types.ts';
import type { ExtractionBody, ReadExtractionRequest } from './extraction-bodies.ts';
import type { CreateOutcome, ExtractionControl, NewExtraction } from '../../extract/base/jobs-port.ts';
import type { IdempotentRequest } from '../../work/extraction-job.ts';
import { NO_SUCH_SESSION, type RequestParts } from '../../extract/request/read-request.ts';
import { sessionHostFault } from '../../extract/request/session-host.ts';
import { decodeFirst, type FirstAnswer, firstAnswer } from '../../extract/base/first-answer.ts';
import { type InlineParts, inlineAnswer } from './sync-handlers.ts';

/** Creates a job. Source: contract, 11.1. */
export interface CreateParts extends RequestParts, InlineParts {
  readonly control: Pick<ExtractionControl, 'create' | 'findIdempotent' | 'measureRecords' | 'streamRecords'> & {
    readonly sessions: Pick<ExtractionControl['sessions'], 'find'>;
  };
  /** Connector → base address that replaces its own. */
  readonly bases: Readonly<Record<string, string>>;
}

export function createHandler(parts: CreateParts): EndpointHandler<ExtractionBody> {
  const { control } = parts;

  return async (request) => {
    const { checked, sha256 } = request.body;
    const idempotent = readIdempotency(request.idempotencyKey, sha256);
    if (idempotent === 'malformed') return BAD_KEY;
    if (idempotent !== null) {
      // Comes before any validation: a request that was accepted once is not rejected when it is repeated.
      const earlier = control.findIdempotent(request.caller.customer, idempotent);
      if (earlier.kind !== 'new') return answerEarlier(earlier, request);
    }
    if (checked.kind === 'problem') return checked;
    const foreign = foreignSession(checked.value, request, parts);
    if (foreign !== null) return foreign;
    const outcome = await control.create(newExtraction(request, checked.value, idempotent));
    return answerOf(outcome, checked.value, request);
  };

  function answerOf(
    outcome: CreateOutcome,
    checked: ReadExtractionRequest,
    request: AnyRequest,
  ): EndpointResponse | Promise<EndpointResponse> {
    switch (outcome.kind) {
      case 'created': {
        const { id, delivery } = outcome.job;
        if (delivery.waitSeconds !== null) return inlineAnswer(id, delivery.waitSeconds, request, parts);
        return sendFirst(firstAnswer(outcome.job, checked.newSecret));
      }
      case 'queue_full':
        return queueFull(outcome.retryAfterSeconds);
      case 'unknown_session':
        return UNKNOWN_SESSION;
      case 'limit_reached':
        return LIMIT_REACHED;
      case 'replay':
      case 'conflict':
        return answerEarlier(outcome, request);
      case 'fault':
        return outcome;
      default:
        return unreachable(outcome);
    }
  }

  function answerEarlier(
    earlier: Extract<CreateOutcome, { readonly kind: 'replay' | 'conflict' }>,
    request: AnyRequest,
  ): EndpointResponse | Promise<EndpointResponse> {
    if (earlier.kind === 'conflict') return CONFLICT;
    const first = decodeFirst(earlier.answer);
    return first.waitSeconds === null ? sendFirst(first) : inlineAnswer(first.id, first.waitSeconds, request, parts);
  }
}

/**
 * Returns an error if the session does not fit the job. Also null if the session does not exist; the store reports that when the job is
 * created.
 */
function foreignSession(
  { session: id, connector: name, input }: ReadExtractionRequest,
  { caller }: AnyRequest,
  { control, connectors, bases }: Pick<CreateParts, 'control' | 'connectors' | 'bases'>,
): EndpointResponse | null {
  const session = id === null ? null : control.sessions.find(caller.customer, id);
  const connector = connectors.find((one) => one.id === name);
  if (session === null || connector === undefined) return null;
  const fault = sessionHostFault(session.host, { connector, input }, bases);
  if (fault === null) return null;
  return { kind: 'problem', problem: problem('validation_failed', 'A field is not valid.', { errors: [fault] }) };
}

function newExtraction(
  request: AnyRequest,
  checked: ReadExtractionRequest,
  idempotent: IdempotentRequest | null,
): NewExtraction {
  const { newSecret, ...rest } = checked;
  return {
    ...rest,
    customer: request.caller.customer,
    requestId: request.requestId,
    idempotency: idempotent === null ? null : { ...idempotent, newSecret },
  };
}

function sendFirst({ id, body }: FirstAnswer): EndpointResponse {
  const headers = { Location: `/v1/extractions/${id}` };
  return { kind: 'text', status: 202, contentType: 'application/json', body, headers };
}

/** Source: contract, 11.6. Choice: the limits of most services with such a header; visible ASCII without blanks. */
const IDEMPOTENCY_KEY = /^[!-~]{1,255}$/;

/** Returns null if no key was sent. */
function readIdempotency(key: string, bodySha256: Uint8Array): IdempotentRequest | null | 'malformed' {
  if (key === '') return null;
  return IDEMPOTENCY_KEY.test(key) ? { key, bodySha256 } : 'malformed';
}

const LIMIT_REACHED: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', 'The customer has used the maximum number of idempotency keys in 24 hours.'),
};

const BAD_KEY: EndpointResponse = {
  kind: 'problem',
  problem: problem('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters.'),
};

const UNKNOWN_SESSION: EndpointResponse = {
  kind: 'problem',
  problem: problem('validation_failed', 'A field is not valid.', { errors: [NO_SUCH_SESSION] }),
};

const CONFLICT: EndpointResponse = {
  kind: 'problem',
  problem: problem('idempotency_conflict', 'Another body was sent under this Idempotency-Key in the last 24 hours.'),
};

function queueFull(retryAfterSeconds: number): EndpointResponse {
  const detail = 'The queue of extractions is full.';
  return { kind: 'problem', problem: problem('queue_full', detail, { retryAfterSeconds }) };
}
