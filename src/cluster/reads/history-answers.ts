import type { DecisionLog } from '../../history/decision-log.ts';
import { customerIn, isNumber, readScan, readWireSearch, RowBuffers, writePage } from './history-wire.ts';
import type { Peers } from '../nodes/peers.ts';
import { queryAt } from './source-order.ts';

/** Names of the questions about decisions. */
export const Questions = { search: 'history.search', find: 'history.find', scan: 'history.scan' } as const;

type Log = Pick<DecisionLog, 'findRaw' | 'searchRaw' | 'scan'>;
type Body = readonly unknown[];

/** Answers the questions of other nodes with the decisions of this one. `source` is the number of this node in positions. */
export function serveHistory(peers: Peers, log: Log, source: number): void {
  peers.handle(Questions.search, (body) => search(log, source, body));
  peers.handle(Questions.find, (body) => find(log, body));
  peers.handle(Questions.scan, (body) => scan(log, body));
}

async function* search(log: Log, source: number, body: Body): AsyncGenerator<Body> {
  const asked = readWireSearch(body);
  if (asked === null) throw new Error('malformed question');
  const page = await log.searchRaw(asked.customer, queryAt(asked.query, source));
  if (page.kind === 'busy') yield ['busy'];
  else yield* writePage(page.rows, page.next);
}

function* find(log: Log, [who, nowMs, ...ids]: Body): Generator<Body> {
  const customer = customerIn(who);
  if (customer === null || !isNumber(nowMs)) throw new Error('malformed question');
  for (const id of ids) {
    const row = typeof id === 'string' ? log.findRaw(customer, id, nowMs) : null;
    if (row !== null) yield [row.latencyMs, row.record, row.occurredAtMs, row.arrival];
  }
}

async function* scan(log: Log, body: Body): AsyncGenerator<Body> {
  const asked = readScan(body);
  if (asked === null) throw new Error('malformed question');
  const rows = new RowBuffers();
  const scanned = await log.scan(asked.customer, asked.query, (_record, bytes, at, end, occurredAtMs) => {
    rows.add(bytes, at, end, occurredAtMs);
    return false;
  });
  if (scanned.kind === 'busy') yield ['busy'];
  else {
    yield ['scanned', scanned.isTruncated];
    for (const buffer of rows.done()) yield [buffer];
  }
}
