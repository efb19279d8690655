import { table } from '../../../../src/state/tables/environment.ts';
import { describe, expect, test } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import { encodeRecord, type RecordParts } from '../../../../src/risk/decision-record.ts';
import { facts } from '../../../support/facts.ts';
import type { Store } from '../../../../src/state/feed/open-store.ts';
import { type ReviewBounds, type ReviewQuery, ShadowReviews } from '../../../../src/state/tables/review-table.ts';
import { customer, hashOf, open, tempFolder, tempStore, value } from '../support.ts';
import { freeSlices } from '../../../support/slices.ts';
import { boundedFeed, writesOf } from '../../../support/writes.ts';

const DAY = 86_400;
const NOW = 20_000 * DAY;
const F = hashOf(9);
const ALL: ReviewQuery = {
  after: null,
  limit: 1000,
  verdict: null,
  why: null,
  queue: 'all',
  state: null,
  order: 'newest',
};

const ALLOWED: RecordParts['verdict'] = { decision: 'ALLOW', score: 0, reasons: [], reviewHint: '' };

function record(requestId: string, extra: Partial<RecordParts> = {}, occurredAtMs = NOW * 1000 + 1234): Buffer {
  return encodeRecord({
    requestId,
    occurredAtMs,
    verdict: { decision: 'REVIEW', score: 83.4, reasons: [], reviewHint: '' },
    sessionMode: 'full',
    shadow: 'near_block',
    publicKey: false,
    eventType: 'login',
    facts: facts({ fingerprintHash: F }),
    contributions: [
      { rule: { code: 'ip_hosting' }, weight: 0.3, evidence: 'x' },
      { rule: { code: 'device_headless' }, weight: 0.7, evidence: 'y' },
    ],
    ...extra,
  });
}

/** Queues decisions, a second apart, oldest first, and returns their ids. */
function enqueue(reviews: ShadowReviews, number: number, count: number, from = NOW, extra: Partial<RecordParts> = {}) {
  return Array.from({ length: count }, (_, i) => {
    const id = newId('req', (from + i) * 1000);
    reviews.enqueue(customer(number), record(id, extra));
    return id;
  });
}

function bounded(
  store: Store,
  {
    perCustomerMax = 100,
    evictionRowsMax = 1000,
    ...bounds
  }: Partial<ReviewBounds & { perCustomerMax: number; evictionRowsMax: number }>,
): ShadowReviews {
  const all = {
    waitingMax: 1000,
    waitingPerCustomerMax: 1000,
    perWrite: 7,
    perDay: 1000,
    scanRowsMax: 1000,
    ...bounds,
  };
  const feed = boundedFeed(
    {
      ...store,
      tables: {
        ...store.tables,
        get shadowReviews() {
          return reviews;
        },
      },
    },
    {
      shadowReviews: perCustomerMax,
      shadowReviewsScanned: evictionRowsMax,
    },
  );
  const reviews = new ShadowReviews(
    table(store.state, 'shadow-reviews'),
    store.tables.rowCounters,
    (of, rows) => feed.commit({ kind: 'reviews.queued', customer: of, rows }, { by: 'service', nowMs: NOW * 1000 }),
    all,
  );
  return reviews;
}

const idsOf = async (reviews: ShadowReviews, number: number, query: Partial<ReviewQuery> = {}): Promise<string[]> =>
  (await reviews.page(customer(number), { ...ALL, ...query }, freeSlices())).rows.map((row) => row.requestId);

describe('the shadow review queue', () => {
  test('A queued row is visible at once, and unchanged after its write', async () => {
    const { shadowReviews: reviews } = tempStore();
    const [id = ''] = enqueue(reviews, 1, 1, NOW, { wouldBe: 'BLOCK' });
    const row = {
      requestId: id,
      fingerprintHash: F,
      publicKey: false,
      decision: 'REVIEW',
      wouldBe: 'BLOCK',
      score: 83.4,
      reasons: ['ip_hosting', 'device_headless'],
      why: 'near_block',
      occurredAtMs: NOW * 1000 + 1234,
      verdict: null,
      work: { assignee: null, note: null, closedAtSeconds: null },
    };
    expect(reviews.find(customer(1), id)).toEqual(row);
    expect(await reviews.page(customer(1), ALL, freeSlices())).toEqual({ rows: [row], next: null });
    expect(reviews.waiting).toBe(1);
    expect(await reviews.flush()).toBeNull();
    expect(reviews.waiting).toBe(0);
    expect(reviews.find(customer(1), id)).toEqual(row);
    expect(await reviews.page(customer(1), ALL, freeSlices())).toEqual({ rows: [row], next: null });
  });

  test('Queueing copies the bytes, so that the caller may reuse its buffer', () => {
    const { shadowReviews: reviews } = tempStore();
    const id = newId('req', NOW * 1000);
    const bytes = record(id);
    reviews.enqueue(customer(1), bytes);
    bytes.fill(0);
    expect(reviews.find(customer(1), id)?.score).toBe(83.4);
  });

  test('Pages contain written and waiting rows newest first, each once', async () => {
    const store = tempStore();
    const reviews = bounded(store, {});
    const ids: string[] = [];
    // Waiting rows that are older than, between and newer than written ones.
    const late = [record(newId('req', (NOW - 50) * 1000)), record(newId('req', (NOW + 10) * 1000))];
    ids.push(...enqueue(reviews, 1, 20));
    await reviews.flush();
    for (const bytes of late) reviews.enqueue(customer(1), bytes);
    ids.push(...enqueue(reviews, 1, 5, NOW + 100));
    enqueue(reviews, 2, 3);
    const all = await idsOf(reviews, 1);
    expect(all).toHaveLength(27);
    expect(all).toEqual([...all].sort().reverse());
    expect(ids.every((id) => all.includes(id))).toBe(true);
    for (const limit of [1, 4, 27, 28]) {
      const seen: string[] = [];
      let after: string | null = null;
      do {
        const page = await reviews.page(customer(1), { ...ALL, after, limit }, freeSlices());
        expect(page.rows.length).toBeLessThanOrEqual(limit);
        seen.push(...page.rows.map((row) => row.requestId));
        after = page.next;
      } while (after !== null);
      expect(seen).toEqual(all);
    }
  });

  test('Pages are filtered by verdict and reason, even if a call scans few rows', async () => {
    const store = tempStore();
    const reviews = bounded(store, { scanRowsMax: 3 });
    const near = enqueue(reviews, 1, 10);
    const sample = enqueue(reviews, 1, 10, NOW + 100, { shadow: 'sample' });
    await reviews.flush();
    const waiting = enqueue(reviews, 1, 2, NOW - 100, { shadow: 'sample' });
    await value(writesOf(store).feedback.judge(customer(1), near[4] ?? '', 'unsure', NOW));
    const walk = async (query: Partial<ReviewQuery>): Promise<string[]> => {
      const seen: string[] = [];
      let after: string | null = null;
      do {
        const page = await reviews.page(customer(1), { ...ALL, limit: 4, ...query, after }, freeSlices());
        seen.push(...page.rows.map((row) => row.requestId));
        after = page.next;
      } while (after !== null);
      return seen.sort();
    };
    expect(await walk({})).toEqual([...near, ...sample, ...waiting].sort());
    expect(await walk({ why: 'sample' })).toEqual([...sample, ...waiting].sort());
    expect(await walk({ verdict: 'unsure' })).toEqual([near[4]]);
    expect(await walk({ verdict: 'fraud' })).toEqual([]);
    expect(await walk({ verdict: 'none', why: 'near_block' })).toEqual(near.filter((id) => id !== near[4]).sort());
  });

  test('Each customer has its own review queue', async () => {
    const store = tempStore();
    const { shadowReviews: reviews } = store;
    const { feedback } = writesOf(store);
    const [first = ''] = enqueue(reviews, 1, 1);
    const [last = ''] = enqueue(reviews, 0xffff_ffff, 1);
    for (const flushed of [false, true]) {
      if (flushed) await reviews.flush();
      expect([await idsOf(reviews, 1), await idsOf(reviews, 2), await idsOf(reviews, 0xffff_ffff)]).toEqual([
        [first],
        [],
        [last],
      ]);
      expect(reviews.find(customer(2), first)).toBeNull();
      expect(await value(feedback.judge(customer(2), first, 'fraud', NOW))).toBeNull();
      expect((await reviews.page(customer(2), { ...ALL, after: first }, freeSlices())).rows).toEqual([]);
    }
    expect(store.labels.labelOf(customer(2), first)).toBeNull();
    expect(store.sightings.customersOf(F, NOW)).toBe(0);
  });

  test('The review queue and its verdicts survive a restart', async () => {
    const folder = tempFolder();
    const before = open(folder);
    const [judged = '', waiting = ''] = enqueue(before.shadowReviews, 1, 2);
    await value(writesOf(before).feedback.judge(customer(1), judged, 'unsure', NOW));
    await before.shadowReviews.flush();
    await before.close();
    const after = open(folder);
    expect(await idsOf(after.shadowReviews, 1)).toEqual([waiting, judged]);
    expect(after.shadowReviews.find(customer(1), judged)?.verdict).toBe('unsure');
    await after.close();
  });
});

describe('a verdict', () => {
  test.each(['waits for its write', 'is written'])('A verdict on a row that %s is kept', async (state) => {
    const store = tempStore();
    const { shadowReviews: reviews } = store;
    const { feedback } = writesOf(store);
    const [id = ''] = enqueue(reviews, 1, 1);
    if (state === 'is written') await reviews.flush();
    const answered = await value(feedback.judge(customer(1), id, 'fraud', NOW));
    expect(answered).toMatchObject({ requestId: id, verdict: 'fraud', score: 83.4 });
    expect((await reviews.page(customer(1), ALL, freeSlices())).rows).toEqual([answered]);
    await reviews.flush();
    expect((await reviews.page(customer(1), ALL, freeSlices())).rows).toEqual([answered]);
  });

  test('A verdict fraud or legitimate is a label and affects the registry, and unsure revokes neither', async () => {
    const store = tempStore();
    const { shadowReviews: reviews, labels, registry } = store;
    const { feedback } = writesOf(store);
    const ids = [1, 2, 3].map((number) => enqueue(reviews, number, 1)[0] ?? '');
    for (const [i, id] of ids.entries()) await value(feedback.judge(customer(i + 1), id, 'fraud', NOW));
    expect(registry.find(F, NOW)?.customers).toBe(3);
    await value(feedback.judge(customer(1), ids[0] ?? '', 'unsure', NOW));
    expect(reviews.find(customer(1), ids[0] ?? '')?.verdict).toBe('unsure');
    expect(labels.labelOf(customer(1), ids[0] ?? '')).toBe('fraud');
    expect(registry.find(F, NOW)?.customers).toBe(3);
    await value(feedback.judge(customer(1), ids[0] ?? '', 'legitimate', NOW));
    expect(labels.labelOf(customer(1), ids[0] ?? '')).toBe('legitimate');
    expect(registry.find(F, NOW)).toBeNull();
  });

  test('A label of a queued decision sets its verdict, and a verdict keeps the note of the label', async () => {
    const store = tempStore();
    const { shadowReviews: reviews, labels } = store;
    const { feedback } = writesOf(store);
    const [id = ''] = enqueue(reviews, 1, 1);
    const decision = { requestId: id, fingerprintHash: F, publicKey: false };
    await value(feedback.label(customer(1), decision, 'fraud', 'chargeback', NOW));
    expect(reviews.find(customer(1), id)?.verdict).toBe('fraud');
    await value(feedback.judge(customer(1), id, 'legitimate', NOW + 1));
    expect(labels.find(customer(1), id)).toMatchObject({ label: 'legitimate', note: 'chargeback' });
  });

  test('A verdict on a public-key decision does not affect the registry', async () => {
    const store = tempStore();
    for (const number of [1, 2, 3]) {
      const [id = ''] = enqueue(store.shadowReviews, number, 1, NOW, { publicKey: true });
      await value(writesOf(store).feedback.judge(customer(number), id, 'fraud', NOW));
      expect(store.labels.labelOf(customer(number), id)).toBe('fraud');
    }
    expect(store.registry.count()).toBe(0);
  });
});

describe('limits of the review queue', () => {
  test('A full queue evicts the oldest rows of the customer without a verdict', async () => {
    const store = tempStore();
    const reviews = bounded(store, { perCustomerMax: 10 });
    enqueue(reviews, 2, 5, NOW - 1000);
    const ids = enqueue(reviews, 1, 10);
    await reviews.flush();
    for (const at of [0, 2]) await value(writesOf(store).feedback.judge(customer(1), ids[at] ?? '', 'fraud', NOW));
    const more = enqueue(reviews, 1, 4, NOW + 100);
    await reviews.flush();
    const gone = [1, 3, 4, 5].map((at) => ids[at]);
    expect(await idsOf(reviews, 1)).toEqual([...ids.filter((id) => !gone.includes(id)), ...more].sort().reverse());
    expect([reviews.evicted, (await idsOf(reviews, 2)).length]).toEqual([4, 5]);
  });

  test('If every row has a verdict, the oldest are evicted and their labels stay', async () => {
    const store = tempStore();
    const reviews = bounded(store, { perCustomerMax: 3, evictionRowsMax: 3 });
    const ids = enqueue(reviews, 1, 3);
    await reviews.flush();
    for (const id of ids) await value(writesOf(store).feedback.judge(customer(1), id, 'fraud', NOW));
    const [newest = ''] = enqueue(reviews, 1, 1, NOW + 10);
    await reviews.flush();
    expect(await idsOf(reviews, 1)).toEqual([newest, ids[2], ids[1]]);
    expect(store.labels.labelOf(customer(1), ids[0] ?? '')).toBe('fraud');
  });

  test('Only the oldest rows are looked at for one without a verdict, however many have one', async () => {
    const store = tempStore();
    const reviews = bounded(store, { perCustomerMax: 10, evictionRowsMax: 3 });
    const ids = enqueue(reviews, 1, 10);
    await reviews.flush();
    for (const id of ids.slice(0, 4)) await value(writesOf(store).feedback.judge(customer(1), id, 'fraud', NOW));
    enqueue(reviews, 1, 1, NOW + 10);
    await reviews.flush();
    expect((await idsOf(reviews, 1)).includes(ids[0] ?? '')).toBe(false);
    expect(await idsOf(reviews, 1)).toEqual(expect.arrayContaining(ids.slice(1)));
    // Looks at as many rows as it evicts, at least.
    enqueue(reviews, 1, 5, NOW + 20);
    await reviews.flush();
    const kept = await idsOf(reviews, 1);
    expect(ids.filter((id) => kept.includes(id))).toEqual(ids.slice(6));
  });

  test('The number of waiting rows is limited, and excess or malformed records are dropped and counted', async () => {
    const store = tempStore();
    const reviews = bounded(store, { waitingMax: 5 });
    enqueue(reviews, 1, 7);
    expect([reviews.waiting, reviews.dropped]).toEqual([5, 2]);
    await reviews.flush();
    reviews.enqueue(customer(1), new Uint8Array(0));
    reviews.enqueue(customer(1), Buffer.from('no record'));
    reviews.enqueue(customer(1), record(newId('req', NOW * 1000), { shadow: null, verdict: ALLOWED }));
    expect(await idsOf(reviews, 1)).toHaveLength(5);
    expect([reviews.waiting, reviews.dropped]).toEqual([0, 5]);
    expect(await reviews.flush()).toBeNull();
  });

  test('A customer with many waiting rows leaves room for those of others', async () => {
    const store = tempStore();
    const reviews = bounded(store, { waitingMax: 10, waitingPerCustomerMax: 4 });
    const ids = enqueue(reviews, 1, 20);
    // Rows that a reader has decoded count as well.
    expect(await idsOf(reviews, 1)).toHaveLength(4);
    enqueue(reviews, 1, 1);
    const others = enqueue(reviews, 2, 3);
    expect([reviews.waiting, reviews.dropped]).toEqual([7, 17]);
    await reviews.flush();
    expect(await idsOf(reviews, 1)).toEqual(ids.slice(0, 4).toReversed());
    expect(await idsOf(reviews, 2)).toEqual(others.toReversed());
    enqueue(reviews, 1, 4, NOW + 1);
    expect([reviews.waiting, reviews.dropped]).toEqual([4, 17]);
  });

  test('Disagreement beyond its share is not queued, and pushes out neither samples nor open work', async () => {
    const store = tempStore();
    const reviews = bounded(store, { perDay: 10, perCustomerMax: 60 });
    const sample = enqueue(reviews, 1, 20, NOW, { shadow: 'sample', verdict: ALLOWED });
    const work = enqueue(reviews, 1, 20, NOW, { shadow: 'challenger' });
    await reviews.flush();
    const flood = enqueue(reviews, 1, 900, NOW + 60, { shadow: 'challenger', verdict: ALLOWED });
    const opposite = enqueue(reviews, 1, 5, NOW + 60, {
      shadow: 'challenger',
      verdict: { decision: 'BLOCK', score: 100, reasons: [], reviewHint: '' },
    });
    // A reader sees the same as the disk.
    for (const flushed of [false, true]) {
      if (flushed) await reviews.flush();
      const kept = await idsOf(reviews, 1);
      const count = (ids: readonly string[]): number => ids.filter((id) => kept.includes(id)).length;
      expect([count(sample), count(work), count(flood), count(opposite)]).toEqual([20, 20, 6, 2]);
      expect([reviews.refused, reviews.dropped, reviews.evicted]).toEqual([897, 0, 0]);
    }
    expect(reviews.waiting).toBe(0);
  });

  test('Rows of decisions older than 30 days are pruned', async () => {
    const store = tempStore();
    const { shadowReviews: reviews } = store;
    enqueue(reviews, 1, 4, NOW - 31 * DAY);
    const kept = enqueue(reviews, 1, 2, NOW - 29 * DAY);
    enqueue(reviews, 2, 1, NOW - 31 * DAY);
    await reviews.flush();
    let removed = 0;
    for (let round = 0; round < 4; round++) removed += await value(writesOf(store).shadowReviews.prune(NOW, 3));
    expect(removed).toBe(5);
    expect([await idsOf(reviews, 1), await idsOf(reviews, 2)]).toEqual([[...kept].reverse(), []]);
  });
});
