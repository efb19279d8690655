import { problem } from '../contract/problem.ts';
import { QUERIES } from '../contract/routes.ts';
import { personMembers } from '../contract/requests/privacy-requests.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { originOf } from './kit/actor.ts';
import { schemaBody } from './kit/body-readers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler, EndpointResponse } from './kit/endpoint-types.ts';
import type { BodyOf } from './kit/request-body.ts';
import type { ErasureState, ExportState, PersonExportQueue, PrivacyQueue } from './privacy-port.ts';
import { readQuery } from './query.ts';

const ERASE = schemaBody('erasePerson');
const EXPORT = schemaBody('exportPerson');

/** Returns the handlers for people's rights. Source: contract, 9.13. */
export function privacyHandlers(
  endpoint: EndpointFactory,
  queue: PrivacyQueue,
  exports: PersonExportQueue,
): SecretHandlers<'erasePerson' | 'exportPerson' | 'findPrivacyJob' | 'readPersonExport'> {
  const erase: EndpointHandler<BodyOf<typeof ERASE>> = async (request) => {
    const { body, caller } = request;
    if (body.kind === 'problem') return body;
    const [subject = ''] = personMembers(body.value);
    const wish = {
      customer: caller.customer,
      subject,
      value: String(body.value[subject]),
      keepBlocks: body.value['keep_blocks'] !== false,
    };
    const started = await queue.erase(wish, originOf(request));
    if (started === 'not_a_value') return notAValue(subject);
    if (started === 'limit_reached') return TOO_MANY;
    if (started === 'queue_full') return QUEUE_FULL;
    if ('code' in started) return started;
    return { kind: 'json', status: 202, body: { id: started.id, status: started.status } };
  };
  const start: EndpointHandler<BodyOf<typeof EXPORT>> = async (request) => {
    const { body, caller } = request;
    if (body.kind === 'problem') return body;
    const [subject = ''] = personMembers(body.value);
    const wish = { customer: caller.customer, subject, value: String(body.value[subject]) };
    const started = await exports.start(wish, originOf(request));
    if (started === 'not_a_value') return notAValue(subject);
    if (started === 'queue_full') return EXPORTS_FULL;
    if ('code' in started) return started;
    return { kind: 'json', status: 202, body: { id: started.id, status: started.status } };
  };
  const find: EndpointHandler = ({ caller: { customer }, params: { id = '' } }) => {
    const exported = exports.find(customer, id);
    return exported === null ? show(queue.find(customer, id)) : showExport(exported);
  };
  const read: EndpointHandler = async ({ caller: { customer }, params: { id = '' }, query }) => {
    const asked = readQuery(query, QUERIES.readPersonExport);
    if (asked.kind === 'problem') return asked;
    const { format } = asked.value;
    const text = await exports.read(customer, id, format);
    if (text === null) return NOT_FOUND;
    if (text === 'not_ready') return NOT_READY;
    return { kind: 'pieces', status: 200, ...DOWNLOADS[format], pieces: [text] };
  };
  return {
    erasePerson: endpoint({ body: ERASE }, erase),
    exportPerson: endpoint({ body: EXPORT }, start),
    findPrivacyJob: endpoint({}, find),
    readPersonExport: endpoint({}, read),
  };
}

function notAValue(subject: string): EndpointResponse {
  const errors = [{ pointer: `/${subject}`, code: 'invalid_value', message: 'This must be a value of that kind.' }];
  return { kind: 'problem', problem: problem('validation_failed', 'A field is not valid.', { errors }) };
}

/** The page is a file to hand on: opened under this address it could do nothing, and is not shown by a browser anyway. */
const DOWNLOADS = {
  ndjson: {
    contentType: 'application/x-ndjson',
    headers: { 'Content-Disposition': 'attachment; filename="person.ndjson"' },
  },
  html: {
    contentType: 'text/html; charset=utf-8',
    headers: {
      'Content-Disposition': 'attachment; filename="person.html"',
      'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'X-Content-Type-Options': 'nosniff',
    },
  },
} as const;

const TOO_MANY: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', 'The customer has 100,000 erasures.'),
};
/** Choice: some erasures have ended by then. */
const RETRY_AFTER_SECONDS = 10;
const QUEUE_FULL: EndpointResponse = {
  kind: 'problem',
  problem: problem('queue_full', 'The customer has 1,000 erasures that wait.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  }),
};
const EXPORTS_FULL: EndpointResponse = {
  kind: 'problem',
  problem: problem('queue_full', 'The customer has 20 exports. They end after an hour.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  }),
};
const NOT_FOUND: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'There is no such erasure or export. Exports end after an hour and with a restart.'),
};
const NOT_READY: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_ready', 'The export has not succeeded. Ask again when its status is succeeded.'),
};

function showExport({
  id,
  status,
  subject,
  requestedAtMs,
  finishedAtMs,
  found,
  leftOut,
}: ExportState): EndpointResponse {
  const body = {
    id,
    kind: 'export',
    status,
    subject,
    requested_at: Math.floor(requestedAtMs / 1_000),
    finished_at: finishedAtMs === null ? null : Math.floor(finishedAtMs / 1_000),
    found,
    left_out: leftOut,
  };
  return { kind: 'json', status: 200, body };
}

function show(state: ErasureState | null): EndpointResponse {
  if (state === null) return NOT_FOUND;
  const { id, status, subject, keepBlocks, requestedAtMs, finish } = state;
  return {
    kind: 'json',
    status: 200,
    body: {
      id,
      kind: 'erasure',
      status,
      subject,
      keep_blocks: keepBlocks,
      requested_at: Math.floor(requestedAtMs / 1_000),
      finished_at: finish === null ? null : Math.floor(finish.atMs / 1_000),
      erased: finish?.erased ?? {},
      kept: finish === null ? [] : keptOf(finish),
    },
  };
}

/** What always stays of a person, and why. */
const ALWAYS_KEPT = [
  {
    place: 'decisions',
    ground: 'decision_record',
    meaning:
      'Time, decision, score, country and reason codes stay: they record what your service decided, and name nobody.',
  },
  {
    place: 'backups',
    ground: 'expires',
    meaning: 'Backups keep the person until you delete them. The first start after a restore repeats the erasure.',
  },
  {
    place: 'journal',
    ground: 'expires',
    meaning: 'Deliveries of the last minutes are in the journal for 301 s.',
  },
  {
    place: 'texts',
    ground: 'not_searched',
    meaning: 'Notes of list entries, rules and webhooks that are about others are not searched for the person.',
  },
  {
    place: 'extractions',
    ground: 'not_searched',
    meaning: 'Records of extractions and sessions of sources are not searched. Delete those that are about the person.',
  },
] as const;

function keptOf({ kept }: NonNullable<ErasureState['finish']>): readonly object[] {
  const found = [];
  if (kept['lists'] !== undefined)
    found.push({
      place: 'lists',
      rows: kept['lists'],
      ground: 'keep_blocks',
      meaning: 'Entries that block the person stay, because keep_blocks is true.',
    });
  if (kept['deliveries'] !== undefined)
    found.push({
      place: 'deliveries',
      rows: kept['deliveries'],
      ground: 'to_be_sent',
      meaning: 'Deliveries that are still to be sent stay until then. Erase again when they have ended.',
    });
  const always = ALWAYS_KEPT.map(({ place, ground, meaning }) => ({ place, rows: null, ground, meaning }));
  return [...found, ...always];
}
