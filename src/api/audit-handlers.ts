import { QUERIES, ROUTES } from '../contract/routes.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { AuditEntry } from '../work/audit.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';
import { type Cursors, readPage } from './kit/paging.ts';
import { pageAnswer } from './kit/response-pieces.ts';

/** Dependencies of the endpoint for the audit log of a customer. Source: contract, 9.6. */
export interface AuditParts {
  readonly store: Pick<Store, 'audit'>;
  readonly cursors: Cursors;
}

const ROUTE = ROUTES.listAudit.path;

export function auditHandlers(endpoint: EndpointFactory, { store, cursors }: AuditParts): SecretHandlers<'listAudit'> {
  const page: EndpointHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.listAudit);
    if (read.kind === 'problem') return read;
    const { kind = null, since, until } = read.values;
    const { after, limit } = read;
    const times = { sinceMs: toMs(since), untilMs: toMs(until) };
    const { customer } = request.caller;
    const found = await store.audit.page(customer, { after, limit, kind, ...times }, request.slices);
    const next = found.next === null ? null : cursors.issue(ROUTE, customer, found.next);
    return pageAnswer(request.slices, found.entries, show, next);
  };
  return { listAudit: endpoint({}, page) };
}

function toMs(seconds: number | undefined): number | null {
  return seconds === undefined ? null : seconds * 1000;
}

function show({ atMs, by, kind, target, before, after }: AuditEntry): Record<string, unknown> {
  return { at: Math.floor(atMs / 1000), actor: by, kind, target, before, after };
}
