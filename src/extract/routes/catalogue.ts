import type { Route } from '../../base/exchange.ts';
import { problem } from '../../base/problem.ts';
import { AnswerPieces } from '../../manage/answer-pieces.ts';
import type { Managed, ManagedAnswer, ManagedHandler } from '../../manage/managed.ts';
import { type Cursors, readPage } from '../../manage/paging.ts';
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
  // It never changes while the service runs, so it is written once, and 100 KB of it are not written again for each call.
  const rows = connectors.map((connector) => ({ id: connector.id, json: JSON.stringify(connectorJson(connector)) }));

  const page: ManagedHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, PAGE_ROWS_DEFAULT);
    if (read.kind === 'problem') return read;
    // A connector that is there no more takes its place in the order with it, and the next page begins at the beginning.
    const from = read.after === null ? 0 : rows.findIndex(({ id }) => id === read.after) + 1;
    const found = rows.slice(from, from + read.limit);
    const last = from + found.length < rows.length ? found.at(-1) : undefined;
    const next = last === undefined ? null : cursors.issue(ROUTE, request.caller.customer, last.id);
    const pieces = new AnswerPieces(request.slices);
    await pieces.add('{"data":[');
    for (const [at, { json }] of found.entries()) await pieces.add(at === 0 ? json : `,${json}`);
    await pieces.add(`],"has_more":${next !== null},"next_cursor":${JSON.stringify(next)}}`);
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: pieces.done() };
  };

  const find: ManagedHandler = (request) => {
    const row = rows.find(({ id }) => id === request.params['id']);
    return row === undefined
      ? NOT_FOUND
      : { kind: 'text', status: 200, contentType: 'application/json', body: row.json };
  };

  return [managed.route(ROUTE, { GET: managed({}, page) }), managed.route(`${ROUTE}/{id}`, { GET: managed({}, find) })];
}

const NOT_FOUND: ManagedAnswer = { kind: 'problem', problem: problem('not_found', 'There is no such connector.') };
