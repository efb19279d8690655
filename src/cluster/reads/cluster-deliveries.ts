import type { CustomerNumber } from '../../kernel/brand.ts';
import type { Coverage } from '../../ports/decision-history.ts';
import type { DeliveryPageOutcome, DeliveryQuery } from '../../state/tables/deliveries/pages.ts';
import type { Delivery, DeliveryEvent, DeliveryId, DeliveryStatus } from '../../work/webhook.ts';
import { packDelivery, unpackDelivery } from '../deliveries/delivery-codec.ts';
import { customerIn } from './history-wire.ts';
import { PEER_PART_BYTES, type Peers } from '../nodes/peers.ts';

/** The delivery log of one node. */
export interface DeliveryLogReads {
  /** Resolves when the deliveries of all decisions answered before this call are readable. */
  settled(): Promise<void>;
  find(customer: CustomerNumber, id: DeliveryId): Delivery | null;
  page(customer: CustomerNumber, query: DeliveryQuery): Promise<DeliveryPageOutcome>;
}

const FIND = 'deliveries.find';
const PAGE = 'deliveries.page';

/**
 * The delivery logs of all nodes. Each node keeps the deliveries that it made or took over; a read queries all live nodes in parallel.
 * Those of a dead node that had ended are missing until it is back, and the call's `coverage` shows it.
 */
export class ClusterDeliveries {
  readonly #own: DeliveryLogReads;
  readonly #peers: Peers;

  constructor(own: DeliveryLogReads, peers: Peers) {
    this.#own = own;
    this.#peers = peers;
    peers.handle(FIND, (body) => answerFind(own, body));
    peers.handle(PAGE, (body) => answerPage(own, body));
  }

  settled(): Promise<void> {
    return this.#own.settled();
  }

  /** Queries the other nodes only if this node does not have the delivery. */
  async find(customer: CustomerNumber, id: DeliveryId, coverage?: Coverage): Promise<Delivery | null> {
    const own = this.#own.find(customer, id);
    if (own !== null) return own;
    const { answers, isPartial } = await this.#peers.ask(FIND, [customer, id]);
    const found = newestOf(answers.flatMap(({ parts }) => parts.flatMap(rowsOf))) ?? null;
    if (found === null && isPartial && coverage !== undefined) coverage.isPartial = true;
    return found;
  }

  async page(customer: CustomerNumber, query: DeliveryQuery, coverage?: Coverage): Promise<DeliveryPageOutcome> {
    const { after, limit, webhookId, status, requestId, event } = query;
    const [own, asked] = await Promise.all([
      this.#own.page(customer, query),
      this.#peers.ask(PAGE, [customer, after, limit, webhookId, status, requestId, event]),
    ]);
    if (own.kind === 'busy') return own;
    if (asked.isPartial && coverage !== undefined) coverage.isPartial = true;
    const pages: LogPage[] = [own];
    for (const { parts } of asked.answers) {
      const [[kind, next] = [], ...rows] = parts;
      if (kind !== 'page') return { kind: 'busy' };
      pages.push({ rows: rows.flatMap(rowsOf), next: typeof next === 'string' ? (next as DeliveryId) : null });
    }
    return { kind: 'page', ...merged(pages, limit) };
  }
}

interface LogPage {
  readonly rows: readonly Delivery[];
  readonly next: DeliveryId | null;
}

/** Merges pages, newest first. Where one ends early, older rows of the others belong to the next page. */
function merged(pages: readonly LogPage[], limit: number): LogPage {
  const ends = pages.flatMap(({ next }) => next ?? []).toSorted();
  const end = ends.at(-1) ?? null;
  const byId = new Map<DeliveryId, Delivery[]>();
  for (const row of pages.flatMap(({ rows }) => rows)) {
    if (end !== null && row.id < end) continue;
    byId.set(row.id, [...(byId.get(row.id) ?? []), row]);
  }
  const ids = [...byId.keys()].toSorted().toReversed();
  const rows = ids.slice(0, limit).flatMap((id) => newestOf(byId.get(id) ?? []) ?? []);
  return { rows, next: ids.length > limit ? (rows.at(-1)?.id ?? end) : end };
}

/** A delivery that was taken over is on two nodes until the first one is back: the one with more attempts is newer. */
function newestOf(rows: readonly Delivery[]): Delivery | undefined {
  return rows.toSorted((one, other) => rank(other) - rank(one))[0];
}

function rank({ status, attempts }: Delivery): number {
  return 2 * attempts.length + (status === 'pending' ? 0 : 1);
}

async function* answerFind(own: DeliveryLogReads, [who, id]: readonly unknown[]): AsyncGenerator<readonly unknown[]> {
  const customer = customerIn(who);
  if (customer === null || typeof id !== 'string') throw new Error('malformed question');
  await own.settled();
  const found = own.find(customer, id as DeliveryId);
  if (found !== null) yield [found.id, packDelivery(found)];
}

async function* answerPage(
  own: DeliveryLogReads,
  [who, after, limit, webhookId, status, requestId, event]: readonly unknown[],
): AsyncGenerator<readonly unknown[]> {
  const customer = customerIn(who);
  if (customer === null || typeof limit !== 'number') throw new Error('malformed question');
  await own.settled();
  const found = await own.page(customer, {
    after: textIn(after) as DeliveryId | null,
    limit,
    webhookId: textIn(webhookId),
    status: textIn(status) as DeliveryStatus | null,
    requestId: textIn(requestId),
    event: textIn(event) as DeliveryEvent | null,
  });
  if (found.kind === 'busy') {
    yield ['busy'];
    return;
  }
  const rows = upTo(found.rows, PAGE_BYTES_MAX);
  yield ['page', rows.length < found.rows.length ? (rows.at(-1)?.id ?? null) : found.next];
  let part: unknown[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (bytes > 0 && bytes + row.body.length > PEER_PART_BYTES) {
      yield part;
      [part, bytes] = [[], 0];
    }
    part.push(row.id, packDelivery(row));
    bytes += row.body.length;
  }
  yield part;
}

/** Choice: the largest page of decisions' deliveries fits. Bodies of extractions have up to 1 MiB: the rest belongs to the next page. */
const PAGE_BYTES_MAX = 32 * PEER_PART_BYTES;

/** Returns the first rows whose bodies have at most `bytesMax` bytes together, at least one. */
function upTo(rows: readonly Delivery[], bytesMax: number): readonly Delivery[] {
  let bytes = 0;
  const end = rows.findIndex(({ body }) => (bytes += body.length) > bytesMax);
  return end < 0 ? rows : rows.slice(0, Math.max(1, end));
}

/** Reads a part: id, row, … */
function rowsOf(part: readonly unknown[]): readonly Delivery[] {
  const rows: Delivery[] = [];
  for (let at = 0; at + 1 < part.length; at += 2) {
    const [id, bytes] = part.slice(at, at + 2);
    const row = typeof id === 'string' && Buffer.isBuffer(bytes) ? unpackDelivery(id, bytes) : null;
    if (row !== null) rows.push(row);
  }
  return rows;
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
