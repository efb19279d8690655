import type { FingerprintHash } from '../kernel/brand.ts';
import { LINK_NEIGHBOURS_MAX, LINK_ROWS_MAX } from '../kernel/history-limits.ts';
import { problem } from '../contract/problem.ts';
import { QUERIES } from '../contract/routes.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import type { SearchOutcome } from '../history/decision-log/log-query.ts';
import type { LinkTarget } from '../history/decision-log/row-links.ts';
import { LinkCounter, PeriodCounter } from '../history/link-summary.ts';
import type { FingerprintReader } from '../risk/fingerprint-history.ts';
import type { Lists } from '../state/tables/list-table.ts';
import type { Registry } from '../state/tables/registry-table.ts';
import { BUSY } from './busy.ts';
import { sharedRegistry } from './lists/list-view.ts';
import { hashIn } from './kit/body-readers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler, EndpointRequest, EndpointResponse } from './kit/endpoint-types.ts';
import type { LinkTargets } from './link-target.ts';
import { badQuery, readQuery } from './query.ts';

/** Dependencies of the endpoints that summarise the decisions of a link. */
export interface LinkParts {
  readonly decisions: Pick<DecisionReader, 'search'>;
  readonly targets: LinkTargets;
  readonly lists: Pick<Lists, 'find'>;
  readonly registry: Registry;
  readonly fingerprints: FingerprintReader;
}

const DAY_MS = 86_400_000;

export function linkHandlers(
  endpoint: EndpointFactory,
  parts: LinkParts,
): SecretHandlers<'findLinks' | 'findFingerprint'> {
  const { decisions, targets } = parts;

  const findLinks: EndpointHandler = async (request) => {
    const read = readQuery(request.query, QUERIES.findLinks);
    if (read.kind === 'problem') return read;
    const { kind, value } = read.value;
    const target = targets.find(request.caller.customer, kind, value);
    if (target === null) return { kind: 'problem', problem: badQuery('value', 'This is not a value of that kind.') };
    const found = await newestOfLink(decisions, request, target);
    if (found.kind === 'busy') return BUSY;
    const counter = new LinkCounter(kind, target.hash.toString('hex'));
    for (const { record } of found.rows) {
      counter.add(record);
      if (request.slices.isOver) await request.slices.begin();
    }
    const { neighbours, firstSeenMs, lastSeenMs, ...counts } = counter.summary(LINK_NEIGHBOURS_MAX);
    const body = {
      kind,
      ...counts,
      first_seen: seconds(firstSeenMs),
      last_seen: seconds(lastSeenMs),
      truncated: found.next !== null,
      neighbours: neighbours.map(({ lastSeenMs: seenMs, ...rest }) => ({ ...rest, last_seen: seconds(seenMs) })),
    };
    return { kind: 'json', status: 200, body };
  };

  const findFingerprint: EndpointHandler = async (request) => {
    const { customer } = request.caller;
    const given = hashIn(request.params['fingerprint_hash'] ?? '');
    const target = given === null ? null : targets.find(customer, 'fingerprint', given);
    if (given === null || target === null) return NOT_FOUND;
    const found = await newestOfLink(decisions, request, target);
    if (found.kind === 'busy') return BUSY;
    const known = otherwiseKnown(parts, given, request);
    if (found.rows.length === 0 && !known.isKnown) return NOT_FOUND;
    const day = new PeriodCounter();
    const month = new PeriodCounter();
    for (const { record } of found.rows) {
      month.add(record);
      if (record.occurredAtMs > request.nowMs - DAY_MS) day.add(record);
      if (request.slices.isOver) await request.slices.begin();
    }
    const body = {
      first_seen: seconds(found.rows.at(-1)?.record.occurredAtMs ?? null),
      last_seen: seconds(found.rows[0]?.record.occurredAtMs ?? null),
      day: day.summary(),
      month: month.summary(),
      truncated: found.next !== null,
      ...known.fields,
    };
    return { kind: 'json', status: 200, body };
  };

  return { findLinks: endpoint({}, findLinks), findFingerprint: endpoint({}, findFingerprint) };
}

/** Returns the newest decisions with a link. */
function newestOfLink(
  decisions: LinkParts['decisions'],
  { caller, nowMs, coverage }: EndpointRequest,
  target: LinkTarget,
): Promise<SearchOutcome> {
  const filter = { links: [target] };
  const query = { decision: null, text: null, after: null, limit: LINK_ROWS_MAX, nowMs, filter, coverage };
  return decisions.search(caller.customer, query);
}

/** Returns what the lists, the registry and the velocity store know of a fingerprint. */
function otherwiseKnown(
  { lists, registry, fingerprints }: LinkParts,
  fingerprintHash: FingerprintHash,
  request: EndpointRequest,
): { readonly isKnown: boolean; readonly fields: Readonly<Record<string, unknown>> } {
  const { customer } = request.caller;
  const action = lists.find(customer, fingerprintHash, request.nowSeconds);
  const shared = sharedRegistry({ registry, fingerprints }, fingerprintHash, request);
  const { isCommon } = fingerprints.find(customer, fingerprintHash, request.nowMs);
  return {
    isKnown: action !== null || 'shared_registry' in shared,
    fields: { common: isCommon, list_action: action, ...shared },
  };
}

/** The same response for a fingerprint of another customer and for one that nobody has seen. */
const NOT_FOUND: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'There is no decision with this fingerprint.'),
};

function seconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}
