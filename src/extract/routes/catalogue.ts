import type { Route } from '../../base/exchange.ts';
import { problem } from '../../base/problem.ts';
import type { Managed, ManagedAnswer, ManagedHandler } from '../../manage/managed.ts';
import { type Cursors, pageAnswer, readPage } from '../../manage/paging.ts';
import type { Connector } from '../connector.ts';
import { connectorJson } from '../wire.ts';

/** What can be extracted, and with what input. Source: open points, section 5, "Catalogue". */
export interface CatalogueParts {
  /** In the order of the catalogue. */
  readonly connectors: readonly Connector[];
  readonly cursors: Cursors;
}

const ROUTE = '/v1/connectors';
/** Source: open points, section 1. */
const PAGE_ROWS_DEFAULT = 100;

export function catalogueRoutes(managed: Managed, { connectors, cursors }: CatalogueParts): Route[] {
  const page: ManagedHandler = (request) => {
    const read = readPage(request, cursors, ROUTE, PAGE_ROWS_DEFAULT);
    if (read.kind === 'problem') return read;
    // A connector that is there no more takes its place in the order with it, and the next page begins at the beginning.
    const from = read.after === null ? 0 : connectors.findIndex(({ id }) => id === read.after) + 1;
    const rows = connectors.slice(from, from + read.limit);
    const last = from + rows.length < connectors.length ? rows.at(-1) : undefined;
    const next = last === undefined ? null : cursors.issue(ROUTE, request.caller.customer, last.id);
    return pageAnswer(rows.map(connectorJson), next);
  };

  const find: ManagedHandler = (request) => {
    const connector = connectors.find(({ id }) => id === request.params['id']);
    return connector === undefined ? NOT_FOUND : { kind: 'json', status: 200, body: connectorJson(connector) };
  };

  return [managed.route(ROUTE, { GET: managed({}, page) }), managed.route(`${ROUTE}/{id}`, { GET: managed({}, find) })];
}

const NOT_FOUND: ManagedAnswer = { kind: 'problem', problem: problem('not_found', 'There is no such connector.') };
