import { unreachable } from '../../kernel/brand.ts';
import { problem } from '../../contract/problem.ts';
import type { SecretHandlers } from '../../http/handlers.ts';
import { QUERIES, ROUTES } from '../../contract/routes.ts';
import { pageAnswer } from '../kit/response-pieces.ts';
import type { BodyOf } from '../kit/request-body.ts';
import type { EndpointFactory } from '../kit/endpoint-factory.ts';
import type { AnyRequest, EndpointResponse, EndpointHandler } from '../kit/endpoint-types.ts';
import { type Cursors, FOREIGN_CURSOR, readPage } from '../kit/paging.ts';
import type { ExtractionControl } from '../../extract/base/jobs-port.ts';
import { sessionBody } from './extraction-bodies.ts';
import type { CheckTarget } from '../../extract/request/request-target.ts';
import { isSessionId, sessionJson } from '../../extract/base/job-wire.ts';

/**
 * Endpoints for logged-in sessions that a customer supplies. Their content is never returned. Source: contract, 14.1.
 */
export interface SessionParts {
  readonly control: Pick<ExtractionControl, 'sessions'>;
  readonly cursors: Cursors;
  readonly checkTarget: CheckTarget;
}

const ROUTE = ROUTES.listSessions.path;

export function sessionHandlers(
  endpoint: EndpointFactory,
  { control, cursors, checkTarget }: SessionParts,
): SecretHandlers<'listSessions' | 'createSession' | 'findSession' | 'deleteSession'> {
  const { sessions } = control;

  const body = sessionBody(checkTarget);

  const page: EndpointHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.listSessions);
    if (read.kind === 'problem') return read;
    const { after, limit } = read;
    if (after !== null && !isSessionId(after)) return FOREIGN_CURSOR;
    const { customer } = request.caller;
    const found = await sessions.page(customer, { after, limit }, request.slices);
    const next = found.next === null ? null : cursors.issue(ROUTE, customer, found.next);
    return pageAnswer(request.slices, found.rows, sessionJson, next);
  };

  const find: EndpointHandler = (request) => {
    const id = idOf(request);
    const session = id === null ? null : sessions.find(request.caller.customer, id);
    return session === null ? NOT_FOUND : { kind: 'json', status: 200, body: sessionJson(session) };
  };

  const add: EndpointHandler<BodyOf<typeof body>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const made = await sessions.create({ ...read.value, customer: request.caller.customer });
    switch (made.kind) {
      case 'created': {
        const headers = { Location: `${ROUTE}/${made.session.id}` };
        return { kind: 'json', status: 201, body: sessionJson(made.session), headers };
      }
      case 'limit_reached':
        return LIMIT_REACHED;
      case 'fault':
        return made;
      default:
        return unreachable(made);
    }
  };

  const remove: EndpointHandler = async (request) => {
    const id = idOf(request);
    if (id === null) return NOT_FOUND;
    const removed = await sessions.remove(request.caller.customer, id);
    if (removed.kind === 'fault') return removed;
    return removed.kind === 'removed' ? { kind: 'empty', status: 204 } : NOT_FOUND;
  };

  return {
    listSessions: endpoint({}, page),
    createSession: endpoint({ body }, add),
    findSession: endpoint({}, find),
    deleteSession: endpoint({}, remove),
  };
}

/** The same response for another customer's sessions as for sessions that do not exist. */
const NOT_FOUND: EndpointResponse = { kind: 'problem', problem: problem('not_found', 'There is no such session.') };

const LIMIT_REACHED: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', 'The customer has the maximum number of sessions. Delete one first.'),
};

function idOf(request: AnyRequest): string | null {
  const id = request.params['id'] ?? '';
  return isSessionId(id) ? id : null;
}
