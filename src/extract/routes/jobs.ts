import { unreachable } from '../../base/brand.ts';
import { problem } from '../../base/problem.ts';
import { EXTRACTION_STATUSES, type ExtractionId } from '../../core/extraction.ts';
import { pageAnswer } from '../../manage/answer-pieces.ts';
import type { AnyRequest, ManagedAnswer, ManagedHandler } from '../../manage/managed.ts';
import { badQuery, type Cursors, readPage } from '../../manage/paging.ts';
import type { ExtractionControl, ExtractionQuery } from '../jobs-port.ts';
import { WAIT_SECONDS_MAX } from '../request/delivery.ts';
import { extractionJson, isExtractionId } from '../wire.ts';
import type { Waits } from './waits.ts';

/** How jobs stand, one or all of a customer's, and their cancellation. Source: extraction specification, 4.2. */
export interface JobParts {
  readonly control: Pick<ExtractionControl, 'page' | 'find' | 'cancel'>;
  readonly cursors: Cursors;
  readonly waits: Waits;
}

const ROUTE = '/v1/extractions';
/** Source: open points, section 1. */
const PAGE_ROWS_DEFAULT = 100;

export function jobHandlers({
  control,
  cursors,
  waits,
}: JobParts): Readonly<Record<'page' | 'find' | 'cancel', ManagedHandler>> {
  return {
    async page(request) {
      const read = readPage(request, cursors, ROUTE, PAGE_ROWS_DEFAULT);
      if (read.kind === 'problem') return read;
      const { after, limit } = read;
      if (after !== null && !isExtractionId(after)) return FOREIGN_CURSOR;
      const filters = readFilters(request.query);
      if (filters.kind === 'problem') return filters;
      const { customer } = request.caller;
      const found = await control.page(customer, { ...filters.value, after, limit }, request.slices);
      const next = found.next === null ? null : cursors.issue(ROUTE, customer, found.next);
      return pageAnswer(request.slices, found.rows, extractionJson, next);
    },

    async find(request) {
      const waitSeconds = readWait(request.query.get('wait'));
      if (waitSeconds === null) return { kind: 'problem', problem: badQuery('wait', WAIT_FORM) };
      const id = idOf(request);
      const job = id === null ? null : await waits.until(request, id, waitSeconds * 1000);
      return job === null ? JOB_NOT_FOUND : { kind: 'json', status: 200, body: extractionJson(job) };
    },

    /** Choice: a job that has ended stays as it is and the answer is 200, so that a cancellation may be sent twice. */
    async cancel(request) {
      const id = idOf(request);
      if (id === null) return JOB_NOT_FOUND;
      const outcome = await control.cancel(request.caller.customer, id);
      switch (outcome.kind) {
        case 'cancelled':
        case 'ended':
          return { kind: 'json', status: 200, body: extractionJson(outcome.job) };
        case 'not_found':
          return JOB_NOT_FOUND;
        case 'fault':
          return outcome;
        default:
          return unreachable(outcome);
      }
    },
  };
}

/** The id in the path; null for what is none. */
export function idOf(request: AnyRequest): ExtractionId | null {
  const id = request.params['id'] ?? '';
  return isExtractionId(id) ? id : null;
}

/** The same for another customer's jobs as for those that nobody has. */
export const JOB_NOT_FOUND: ManagedAnswer = {
  kind: 'problem',
  problem: problem('not_found', 'There is no such extraction.'),
};

const FOREIGN_CURSOR: ManagedAnswer = {
  kind: 'problem',
  problem: badQuery('cursor', 'This is not a next_cursor of this list.'),
};

const WAIT_FORM = `This must be a number of seconds from 0 to ${WAIT_SECONDS_MAX}.`;

/** null for what is no such number; 0 where nothing is given. */
function readWait(text: string | null): number | null {
  if (text === null) return 0;
  return /^\d{1,3}$/.test(text) && Number(text) <= WAIT_SECONDS_MAX ? Number(text) : null;
}

type Filters = Pick<ExtractionQuery, 'status' | 'connector' | 'operation'>;
type Problematic = Extract<ManagedAnswer, { readonly kind: 'problem' }>;

/** Choice: a name that nothing has finds nothing; what could be no name is 400. */
const NAME = /^[\w.-]{1,100}$/;

function readFilters(query: URLSearchParams): { readonly kind: 'ok'; readonly value: Filters } | Problematic {
  const statusText = query.get('status');
  const status = EXTRACTION_STATUSES.find((one) => one === statusText) ?? null;
  if (statusText !== null && status === null) return bad('status', `one of ${EXTRACTION_STATUSES.join(', ')}`);
  const connector = query.get('connector');
  if (connector !== null && !NAME.test(connector)) return bad('connector', 'the id of a connector');
  const operation = query.get('operation');
  if (operation !== null && !NAME.test(operation)) return bad('operation', 'the name of an operation');
  return { kind: 'ok', value: { status, connector, operation } };
}

function bad(name: string, what: string): Problematic {
  return { kind: 'problem', problem: badQuery(name, `This must be ${what}.`) };
}
