import { unreachable } from '../../kernel/brand.ts';
import { problem } from '../../contract/problem.ts';
import { QUERIES, ROUTES } from '../../contract/routes.ts';
import type { ExtractionId } from '../../work/extraction-job.ts';
import { pageAnswer } from '../kit/response-pieces.ts';
import type { AnyRequest, EndpointResponse, EndpointHandler } from '../kit/endpoint-types.ts';
import { type Cursors, FOREIGN_CURSOR, readPage } from '../kit/paging.ts';
import { readQuery } from '../query.ts';
import type { ExtractionControl } from '../../extract/base/jobs-port.ts';
import { extractionJson, isExtractionId } from '../../extract/base/job-wire.ts';
import type { Waits } from './waits.ts';

/** Endpoints for the state of one job or of all jobs of a customer, and for cancellation. Source: contract, 12.1 and 12.3. */
export interface JobParts {
  readonly control: Pick<ExtractionControl, 'page' | 'find' | 'cancel'>;
  readonly cursors: Cursors;
  readonly waits: Waits;
}

const ROUTE = ROUTES.listExtractions.path;

export function jobHandlers({
  control,
  cursors,
  waits,
}: JobParts): Readonly<Record<'page' | 'find' | 'cancel', EndpointHandler>> {
  return {
    async page(request) {
      const read = readPage(request, cursors, ROUTE, QUERIES.listExtractions);
      if (read.kind === 'problem') return read;
      const { after, limit } = read;
      if (after !== null && !isExtractionId(after)) return FOREIGN_CURSOR;
      const { status = null, connector = null, operation = null } = read.values;
      const { customer } = request.caller;
      const query = { status, connector, operation, after, limit };
      const found = await control.page(customer, query, request.slices);
      const next = found.next === null ? null : cursors.issue(ROUTE, customer, found.next);
      return pageAnswer(request.slices, found.rows, extractionJson, next);
    },

    async find(request) {
      const read = readQuery(request.query, QUERIES.findExtraction);
      if (read.kind === 'problem') return read;
      const id = jobIdOf(request);
      const job = id === null ? null : await waits.until(request, id, read.value.wait * 1000);
      return job === null ? JOB_NOT_FOUND : { kind: 'json', status: 200, body: extractionJson(job) };
    },

    /** Choice: a job that has ended stays unchanged and the response is 200, so that a cancellation may be repeated. */
    async cancel(request) {
      const id = jobIdOf(request);
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

/** Returns the id in the path; null if it is not a valid id. */
export function jobIdOf(request: AnyRequest): ExtractionId | null {
  const id = request.params['id'] ?? '';
  return isExtractionId(id) ? id : null;
}

/** The same response for another customer's jobs as for jobs that do not exist. */
export const JOB_NOT_FOUND: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'There is no such extraction.'),
};
