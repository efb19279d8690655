import { unreachable } from '../../base/brand.ts';
import type { Route } from '../../base/exchange.ts';
import { problem } from '../../base/problem.ts';
import { pageAnswer } from '../../manage/answer-pieces.ts';
import type { BodyOf } from '../../manage/body.ts';
import type { AnyRequest, Managed, ManagedAnswer, ManagedHandler } from '../../manage/managed.ts';
import { badQuery, type Cursors, readPage } from '../../manage/paging.ts';
import type { ExtractionControl } from '../jobs-port.ts';
import { sessionBody } from '../bodies.ts';
import type { CheckTarget } from '../request/target.ts';
import { isSessionId, sessionJson } from '../wire.ts';

/** Logged-in sessions that a customer supplies; what they hold is never told. Source: open points, section 5, "Session". */
export interface SessionParts {
  readonly control: Pick<ExtractionControl, 'sessions'>;
  readonly cursors: Cursors;
  readonly checkTarget: CheckTarget;
}

const ROUTE = '/v1/sessions';
/** Source: open points, section 1. */
const PAGE_ROWS_DEFAULT = 100;

export function sessionRoutes(managed: Managed, { control, cursors, checkTarget }: SessionParts): Route[] {
  const { sessions } = control;

  const body = sessionBody(checkTarget);

  const page: ManagedHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, PAGE_ROWS_DEFAULT);
    if (read.kind === 'problem') return read;
    const { after, limit } = read;
    if (after !== null && !isSessionId(after)) return FOREIGN_CURSOR;
    const { customer } = request.caller;
    const found = await sessions.page(customer, { after, limit }, request.slices);
    const next = found.next === null ? null : cursors.issue(ROUTE, customer, found.next);
    return pageAnswer(request.slices, found.rows, sessionJson, next);
  };

  const find: ManagedHandler = (request) => {
    const id = idOf(request);
    const session = id === null ? null : sessions.find(request.caller.customer, id);
    return session === null ? NOT_FOUND : { kind: 'json', status: 200, body: sessionJson(session) };
  };

  const add: ManagedHandler<BodyOf<typeof body>> = async (request) => {
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

  const remove: ManagedHandler = async (request) => {
    const id = idOf(request);
    if (id === null) return NOT_FOUND;
    const removed = await sessions.remove(request.caller.customer, id);
    if (removed.kind === 'fault') return removed;
    return removed.kind === 'removed' ? { kind: 'empty', status: 204 } : NOT_FOUND;
  };

  return [
    managed.route(ROUTE, { GET: managed({}, page), POST: managed({ body }, add) }),
    managed.route(`${ROUTE}/{id}`, { GET: managed({}, find), DELETE: managed({}, remove) }),
  ];
}

/** The same for another customer's sessions as for those that nobody has. */
const NOT_FOUND: ManagedAnswer = { kind: 'problem', problem: problem('not_found', 'There is no such session.') };

const LIMIT_REACHED: ManagedAnswer = {
  kind: 'problem',
  problem: problem('limit_reached', 'There are as many sessions as a customer may have. Delete one first.'),
};

const FOREIGN_CURSOR: ManagedAnswer = {
  kind: 'problem',
  problem: badQuery('cursor', 'This is not a next_cursor of this list.'),
};

function idOf(request: AnyRequest): string | null {
  const id = request.params['id'] ?? '';
  return isSessionId(id) ? id : null;
}
