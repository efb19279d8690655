import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import type { Label } from '../../../../src/risk/judgement.ts';
import { table } from '../../../../src/state/tables/environment.ts';
import type { Store } from '../../../../src/state/feed/open-store.ts';
import { Feedback } from '../../../../src/state/feed/feedback.ts';
import type { JudgedDecision } from '../../../../src/state/tables/label-table.ts';
import { requestIdOf, requestKey } from '../../../../src/state/tables/request-rows.ts';
import { RowCounters } from '../../../../src/state/tables/row-counters.ts';
import { customer, hashOf, open, tempFolder, tempStore, value } from '../support.ts';
import { boundedFeed, writesOf } from '../../../support/writes.ts';

const DAY = 86_400;
const NOW = 20_000 * DAY;
const F = hashOf(1);

function decision(atSeconds = NOW, extra: Partial<JudgedDecision> = {}): JudgedDecision {
  return { requestId: newId('req', atSeconds * 1000), fingerprintHash: F, publicKey: false, ...extra };
}

function label(
  store: Store,
  number: number,
  judged: JudgedDecision,
  what: Label,
  at = NOW,
  note: string | null = null,
) {
  return value(writesOf(store).feedback.label(customer(number), judged, what, note, at));
}

describe('keys of decision rows', () => {
  test('The key of a decision contains the whole id and preserves its order', () => {
    const ms = fc.integer({ min: 0, max: 2 ** 47 });
    fc.assert(
      fc.property(ms, ms, (a, b) => {
        const ids = [newId('req', a), newId('req', b)];
        const keys = ids.map((id) => requestKey(customer(7), id));
        expect(keys.map((key) => key && requestIdOf(key))).toEqual(ids);
        const [left = null, right = null] = keys;
        if (a !== b && left !== null && right !== null) expect(Buffer.compare(left, right)).toBe(Math.sign(a - b));
      }),
    );
    const last = `req_7${'Z'.repeat(25)}`;
    expect(requestIdOf(requestKey(customer(0xffff_ffff), last) ?? Buffer.alloc(20))).toBe(last);
  });

  test.each([
    '',
    'req_',
    'x',
    `wh_${'0'.repeat(26)}`,
    `req_8${'0'.repeat(25)}`,
    `req_${'0'.repeat(25)}I`,
    `req_${'0'.repeat(27)}`,
  ])('There is no key for the invalid id %j', (id) => {
    expect(requestKey(customer(1), id)).toBeNull();
  });
});

describe('labels', () => {
  test('A label is stored with its note, and a new label replaces it', async () => {
    const store = tempStore();
    const judged = decision();
    const { requestId } = judged;
    expect(store.labels.labelOf(customer(1), requestId)).toBeNull();
    const made = await label(store, 1, judged, 'fraud', NOW, 'chargeback ünïcode');
    expect(made).toEqual({ ...judged, label: 'fraud', note: 'chargeback ünïcode', createdAtSeconds: NOW });
    expect(store.labels.find(customer(1), requestId)).toEqual(made);
    await label(store, 1, judged, 'legitimate', NOW + 5);
    expect(store.labels.find(customer(1), requestId)).toMatchObject({ note: null, createdAtSeconds: NOW + 5 });
    expect(store.labels.labelOf(customer(1), requestId)).toBe('legitimate');
  });

  test('A customer cannot see labels of another one', async () => {
    const store = tempStore();
    const judged = decision();
    await label(store, 2, judged, 'fraud');
    for (const number of [1, 3]) expect(store.labels.find(customer(number), judged.requestId)).toBeNull();
    await label(store, 1, judged, 'legitimate');
    expect([1, 2].map((n) => store.labels.labelOf(customer(n), judged.requestId))).toEqual(['legitimate', 'fraud']);
  });

  test('Labels of decisions without a fingerprint are stored, and unknown decisions have none', async () => {
    const store = tempStore();
    const judged = decision(NOW, { fingerprintHash: null });
    await label(store, 1, judged, 'fraud');
    await label(store, 1, judged, 'legitimate');
    expect(store.labels.find(customer(1), judged.requestId)?.fingerprintHash).toBeNull();
    expect(store.labels.find(customer(1), 'anything')).toBeNull();
  });

  test('Labels survive a restart', async () => {
    const folder = tempFolder();
    const before = open(folder);
    const judged = decision();
    await label(before, 1, judged, 'fraud');
    await before.close();
    const after = open(folder);
    expect(after.labels.labelOf(customer(1), judged.requestId)).toBe('fraud');
    await after.close();
  });

  test('Beyond the limit of a customer the label of its oldest decision is removed, and none of other customers', async () => {
    const store = tempStore();
    const { labels, shadowReviews, sightingQueue, sightingReports } = store;
    const changes = boundedFeed(store, { labels: 3 });
    const feedback = new Feedback({ changes, shadowReviews, sightingQueue, sightingReports });
    const given = [5, 1, 4, 2, 3].map((day) => decision(NOW + day * DAY));
    const other = decision(NOW);
    await value(feedback.label(customer(2), other, 'fraud', null, NOW, 'service'));
    for (const judged of given) await value(feedback.label(customer(1), judged, 'fraud', null, NOW, 'service'));
    // Replacing a label takes no room.
    await value(feedback.label(customer(1), given[0] ?? other, 'legitimate', null, NOW, 'service'));
    expect(given.map(({ requestId }) => labels.labelOf(customer(1), requestId))).toEqual([
      'legitimate',
      null,
      'fraud',
      null,
      'fraud',
    ]);
    expect(labels.labelOf(customer(2), other.requestId)).toBe('fraud');
  });

  test('Labels of decisions older than 400 days are pruned, some rows at a time, customer by customer', async () => {
    const store = tempStore();
    const old: JudgedDecision[] = [];
    for (const number of [1, 2, 0xffff_ffff]) {
      for (let i = 0; i < 5; i++) {
        const judged = decision(NOW - (i < 3 ? 401 : 399) * DAY);
        if (i < 3) old.push(judged);
        await label(store, number, judged, 'fraud');
      }
    }
    let removed = 0;
    for (let round = 0; round < 8; round++) removed += await value(writesOf(store).labels.prune(NOW, 4));
    expect(removed).toBe(9);
    for (const number of [1, 2, 0xffff_ffff]) {
      expect(old.every(({ requestId }) => store.labels.find(customer(number), requestId) === null)).toBe(true);
      expect(new RowCounters(table(store.state, 'tallies')).get('labels', customer(number))).toBe(2);
    }
    for (let round = 0; round < 4; round++) expect(await value(writesOf(store).labels.prune(NOW, 4))).toBe(0);
  });
});

describe('labels and the registry', () => {
  test('Fraud labels of three customers promote a fingerprint, and a later legitimate label revokes one of them', async () => {
    const store = tempStore();
    for (const number of [1, 2, 3]) {
      expect(store.registry.find(F, NOW)).toBeNull();
      await label(store, number, decision(), 'fraud');
    }
    expect(store.registry.find(F, NOW)).toEqual({ risk: 90, customers: 3 });
    // For another decision with that fingerprint.
    await label(store, 2, decision(), 'legitimate');
    expect(store.registry.find(F, NOW)).toBeNull();
  });

  test('A legitimate label revokes the evidence of BLOCKs, including waiting ones, and of the list of the customer', async () => {
    const store = tempStore();
    const { sightings, sightingQueue: queue } = store;
    for (const number of [1, 2, 3]) queue.noteDecision(customer(number), F, NOW);
    await queue.flush(NOW);
    await label(store, 1, decision(), 'legitimate');
    expect(sightings.customersOf(F, NOW)).toBe(2);
    queue.noteDecision(customer(1), F, NOW);
    await label(store, 1, decision(), 'legitimate');
    await queue.flush(NOW);
    expect(sightings.customersOf(F, NOW)).toBe(2);
    await value(store.sightingReports.noteBlocks(customer(1), [F], NOW));
    expect(store.registry.find(F, NOW)?.customers).toBe(3);
    await label(store, 1, decision(), 'legitimate');
    expect(store.registry.find(F, NOW)).toBeNull();
  });

  test('Labels of public-key decisions do not affect the registry', async () => {
    const store = tempStore();
    for (const number of [1, 2, 3]) await label(store, number, decision(NOW, { publicKey: true }), 'fraud');
    expect(store.sightings.customersOf(F, NOW)).toBe(0);
    for (const number of [1, 2, 3]) await label(store, number, decision(), 'fraud');
    const open = decision(NOW, { publicKey: true });
    await label(store, 3, open, 'legitimate');
    expect(store.registry.find(F, NOW)?.customers).toBe(3);
    expect(store.labels.labelOf(customer(3), open.requestId)).toBe('legitimate');
  });

  test('Legitimate labels promote nothing', async () => {
    const store = tempStore();
    for (const number of [1, 2, 3, 4]) await label(store, number, decision(), 'legitimate');
    expect([store.registry.count(), store.sightings.customersOf(F, NOW)]).toEqual([0, 0]);
  });
});
