import { problem } from '../../contract/problem.ts';
import type { SecretHandlers } from '../../http/handlers.ts';
import { QUERIES, ROUTES } from '../../contract/routes.ts';
import { AnswerPieces } from '../kit/response-pieces.ts';
import type { EndpointFactory } from '../kit/endpoint-factory.ts';
import type { EndpointResponse, EndpointHandler } from '../kit/endpoint-types.ts';
import { type Cursors, readPage } from '../kit/paging.ts';
import type { Connector } from '../../extract/base/connector.ts';
import { connectorJson } from '../../extract/base/job-wire.ts';

/** Endpoints that list what can be extracted, and with which input. Source: contract, 14.2. */
export interface CatalogueParts {
  /** In the order of the catalogue. */
  readonly connectors: readonly Connector[];
  readonly cursors: Cursors;
}

const ROUTE = ROUTES.listConnectors.path;

export function catalogueHandlers(
  endpoint: EndpointFactory,
  { connectors, cursors }: CatalogueParts,
): SecretHandlers<'listConnectors' | 'findConnector'> {
  // The catalogue never changes while the service runs, so its 100 KB are serialised once and not for each call.
  const rows = connectors.map((connector) => ({ id: connector.id, json: JSON.stringify(connectorJson(connector)) }));

  const page: EndpointHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.listConnectors);
    if (read.kind === 'problem') return read;
    // If the connector of the cursor no longer exists, its position is unknown, and the next page starts at the beginning.
    const from = read.after === null ? 0 : rows.findIndex(({ id }) => id === read.after) + 1;
    const found = rows.slice(from, from + read.limit);
    const last = from + found.length < rows.length ? found.at(-1) : undefined;
    const next = last === undefined ? null : cursors.issue(ROUTE, request.caller.customer, last.id);
    const pieces = new AnswerPieces(request.slices);
    await pieces.add('{"data":[');
    for (const [at, { json }] of found.entries()) {
      if (at > 0) pieces.put(',');
      await pieces.add(json);
    }
    await pieces.add(`],"has_more":${next !== null},"next_cursor":${JSON.stringify(next)}}`);
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: pieces.done() };
  };

  const find: EndpointHandler = (request) => {
    const row = rows.find(({ id }) => id === request.params['id']);
    return row === undefined
      ? NOT_FOUND
      : { kind: 'text', status: 200, contentType: 'application/json', body: row.json };
  };

  return { listConnectors: endpoint({}, page), findConnector: endpoint({}, find) };
}

const NOT_FOUND: EndpointResponse = { kind: 'problem', problem: problem('not_found', 'There is no such connector.') };
