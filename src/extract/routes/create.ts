import { unreachable } from '../../base/brand.ts';
import { problem } from '../../base/problem.ts';
import type { Extraction, ExtractionId } from '../../core/extraction.ts';
import type { AnyRequest, ManagedAnswer, ManagedHandler } from '../../manage/managed.ts';
import type { ExtractionBody, ReadRequest } from '../bodies.ts';
import type { CreateOutcome, ExtractionControl, IdempotentRequest, NewExtraction } from '../jobs-port.ts';
import { NO_SUCH_SESSION, type RequestParts } from '../request.ts';
import { sessionHostFault } from '../request/session-host.ts';
import { createdJson, isExtractionId } from '../wire.ts';
import { type InlineParts, inlineAnswer } from './sync.ts';

/** Takes a job on. Source: extraction specification, 4.1; open points, section 5. */
export interface CreateParts extends RequestParts, InlineParts {
  readonly control: Pick<ExtractionControl, 'create' | 'findIdempotent' | 'recordsInSlices'> & {
    readonly sessions: Pick<ExtractionControl['sessions'], 'find'>;
  };
  /** Connector → another base address. */
  readonly bases: Readonly<Record<string, string>>;
}

export function createHandler(parts: CreateParts): ManagedHandler<ExtractionBody> {
  const { control } = parts;

  return async (request) => {
    const { checked, sha256 } = request.body;
    const idempotent = readIdempotency(request.idempotencyKey, sha256);
    if (idempotent === 'malformed') return BAD_KEY;
    if (idempotent !== null) {
      // Before anything is looked at: what was accepted once is not refused when it is sent again.
      const earlier = control.findIdempotent(request.caller.customer, idempotent);
      if (earlier.kind !== 'new') return answerEarlier(earlier, request);
    }
    if (checked.kind === 'problem') return checked;
    const foreign = foreignSession(checked.value, request);
    if (foreign !== null) return foreign;
    const outcome = await control.create(newExtraction(request, checked.value, idempotent));
    return answerOf(outcome, checked.value, request);
  };

  /** null also where there is no such session, which is for the store to say when it takes the job on. */
  function foreignSession(
    { session: id, connector: name, input }: ReadRequest,
    { caller }: AnyRequest,
  ): ManagedAnswer | null {
    const session = id === null ? null : control.sessions.find(caller.customer, id);
    const connector = parts.connectors.find((one) => one.id === name);
    const fault =
      session === null || connector === undefined
        ? null
        : sessionHostFault(session.host, { connector, input }, parts.bases);
    if (fault === null) return null;
    return { kind: 'problem', problem: problem('validation_failed', 'A field is not valid.', { errors: [fault] }) };
  }

  function answerOf(
    outcome: CreateOutcome,
    checked: ReadRequest,
    request: AnyRequest,
  ): ManagedAnswer | Promise<ManagedAnswer> {
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
  ): ManagedAnswer | Promise<ManagedAnswer> {
    if (earlier.kind === 'conflict') return CONFLICT;
    const first = decodeFirst(earlier.answer);
    return first.waitSeconds === null ? sendFirst(first) : inlineAnswer(first.id, first.waitSeconds, request, parts);
  }
}

function newExtraction(request: AnyRequest, checked: ReadRequest, idempotent: IdempotentRequest | null): NewExtraction {
  const { newSecret, ...rest } = checked;
  return {
    ...rest,
    customer: request.caller.customer,
    requestId: request.requestId,
    idempotency: idempotent === null ? null : { ...idempotent, answer: (job) => encodeFirst(job, newSecret) },
  };
}

/**
 * What is kept under an `Idempotency-Key`: the answer itself, or for inline answers the job, whose outcome is the answer and does
 * not change once it is there. So the records are not stored twice.
 */
interface FirstAnswer {
  readonly id: ExtractionId;
  readonly waitSeconds: number | null;
  readonly body: string;
}

function firstAnswer(job: Extraction, newSecret: string | null): FirstAnswer {
  const { waitSeconds } = job.delivery;
  return { id: job.id, waitSeconds, body: waitSeconds === null ? JSON.stringify(createdJson(job, newSecret)) : '' };
}

function encodeFirst(job: Extraction, newSecret: string | null): Uint8Array {
  return Buffer.from(JSON.stringify(firstAnswer(job, newSecret)));
}

function decodeFirst(bytes: Uint8Array): FirstAnswer {
  const { id, waitSeconds, body } = JSON.parse(Buffer.from(bytes).toString()) as FirstAnswer;
  if (!isExtractionId(id)) throw new Error('what is kept under an idempotency key is no answer');
  return { id, waitSeconds, body };
}

function sendFirst({ id, body }: FirstAnswer): ManagedAnswer {
  const headers = { Location: `/v1/extractions/${id}` };
  return { kind: 'text', status: 202, contentType: 'application/json', body, headers };
}

/** Source: open points, section 5. Choice: the bounds of most services that have it; blanks are left out of visible ASCII. */
const IDEMPOTENCY_KEY = /^[!-~]{1,255}$/;

/** null where none was sent. */
function readIdempotency(key: string, bodySha256: Uint8Array): IdempotentRequest | null | 'malformed' {
  if (key === '') return null;
  return IDEMPOTENCY_KEY.test(key) ? { key, bodySha256 } : 'malformed';
}

const LIMIT_REACHED: ManagedAnswer = {
  kind: 'problem',
  problem: problem('limit_reached', 'There are as many idempotency keys as a customer may use in 24 hours.'),
};

const BAD_KEY: ManagedAnswer = {
  kind: 'problem',
  problem: problem('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters.'),
};

const UNKNOWN_SESSION: ManagedAnswer = {
  kind: 'problem',
  problem: problem('validation_failed', 'A field is not valid.', { errors: [NO_SUCH_SESSION] }),
};

const CONFLICT: ManagedAnswer = {
  kind: 'problem',
  problem: problem('idempotency_conflict', 'Another body was sent under this Idempotency-Key in the last 24 hours.'),
};

function queueFull(retryAfterSeconds: number): ManagedAnswer {
  const detail = 'As many extractions are queued as the service takes at once.';
  return { kind: 'problem', problem: problem('queue_full', detail, { retryAfterSeconds }) };
}
