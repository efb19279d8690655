import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { ALLOW_KEPT_MS, FLAGGED_KEPT_MS } from '../../../src/kernel/history-limits.ts';
import { LinkTargets } from '../../../src/api/link-target.ts';
import { LinkHasher } from '../../../src/risk/decision-links.ts';
import type { LinkTail } from '../../../src/risk/decision-record.ts';
import { LinkTailWriter } from '../../../src/risk/link-tail.ts';
import type { History, HistoryFilter, HistoryQuery } from '../../../src/ports/decision-history.ts';
import { recordOf, type RowParts } from '../../unit/state/decision-log-support.ts';

const NOW = 1_790_000_000_000;
const ONE = 1 as CustomerNumber;
const TWO = 2 as CustomerNumber;
const SECRET = Buffer.alloc(32, 9);

/** What every adapter of the port `History` promises. `open` returns an empty one, which the caller closes. */
export function historyConformance(open: () => History): void {
  const targets = new LinkTargets(SECRET);

  function append(history: History, customer: CustomerNumber, parts: RowParts): string {
    const { requestId, bytes } = recordOf(parts);
    history.append(customer, bytes, 2);
    return requestId;
  }

  async function idsOf(
    history: History,
    customer: CustomerNumber,
    query: Partial<HistoryQuery> = {},
  ): Promise<string[]> {
    const ids: string[] = [];
    let after: HistoryQuery['after'] = null;
    do {
      const asked = { decision: null, text: null, limit: 2, nowMs: NOW, ...query, after };
      const page = await history.search(customer, asked);
      if (page.kind === 'busy') throw new Error('the search was refused');
      ids.push(...page.rows.map(({ record }) => record.requestId));
      after = page.next;
    } while (after !== null);
    return ids;
  }

  describe('the port of history', () => {
    test('A decision is found at once, by its customer only', async () => {
      const history = open();
      const id = append(history, ONE, { occurredAtMs: NOW, decision: 'REVIEW' });
      expect((await history.find(ONE, id, NOW))?.record).toMatchObject({ requestId: id, decision: 'REVIEW' });
      expect(await history.find(TWO, id, NOW)).toBeNull();
      expect(await idsOf(history, TWO)).toEqual([]);
    });

    test('Pages have every decision once, newest first', async () => {
      const history = open();
      const ids = Array.from({ length: 7 }, (_none, n) => append(history, ONE, { occurredAtMs: NOW - 7 + n }));
      expect(await idsOf(history, ONE)).toEqual(ids.toReversed());
      expect(await idsOf(history, ONE, { limit: 100 })).toEqual(ids.toReversed());
    });

    test('An ALLOW expires after a day, any other decision after 30 days', async () => {
      const history = open();
      const allow = append(history, ONE, { occurredAtMs: NOW, decision: 'ALLOW' });
      const block = append(history, ONE, { occurredAtMs: NOW, decision: 'BLOCK' });
      expect(await idsOf(history, ONE, { nowMs: NOW + ALLOW_KEPT_MS - 1 })).toEqual([block, allow]);
      expect(await idsOf(history, ONE, { nowMs: NOW + ALLOW_KEPT_MS })).toEqual([block]);
      expect(await history.find(ONE, allow, NOW + ALLOW_KEPT_MS)).toBeNull();
      expect(await idsOf(history, ONE, { nowMs: NOW + FLAGGED_KEPT_MS })).toEqual([]);
    });

    test('Criteria apply together', async () => {
      const history = open();
      const ids = [10, 60, 90].map((score, n) =>
        append(history, ONE, {
          occurredAtMs: NOW - 3_000 + n * 1_000,
          decision: score < 50 ? 'ALLOW' : 'BLOCK',
          eventType: n === 1 ? 'payment' : 'login',
          score,
          reasons: n === 0 ? [] : ['ip_vpn'],
        }),
      );
      const found = (filter: Partial<HistoryFilter>): Promise<string[]> => idsOf(history, ONE, { filter });
      expect(await found({ scoreMin: 60 })).toEqual([ids[2], ids[1]]);
      expect(await found({ eventType: 'login', reason: 'ip_vpn' })).toEqual([ids[2]]);
      expect(await found({ sinceMs: NOW - 2_000, untilMs: NOW - 1_000 })).toEqual([ids[1]]);
      expect(await found({ asn: 64_500, scoreMin: 60 })).toEqual([ids[2], ids[1]]);
      expect(await found({ asn: 64_496 })).toEqual([]);
      // These records have no path and no identities.
      expect(await found({ path: '/login' })).toEqual([]);
      expect(await found({ emailDomain: 'mail.example' })).toEqual([]);
      expect(await idsOf(history, ONE, { decision: 'ALLOW', filter: { scoreMax: 60 } })).toEqual([ids[0]]);
    });

    test('Decisions are found by a link, which is the customer’s own', async () => {
      const history = open();
      const tailOf = (customer: CustomerNumber, value: string): LinkTail => {
        const hasher = new LinkHasher(SECRET);
        const writer = new LinkTailWriter();
        writer.reset();
        hasher.updateEntity(customer, 'user', value);
        writer.addEntity('user', hasher);
        return { bytes: writer.done(), identities: null };
      };
      const ids = ['ann', 'bob', 'ann'].map((user, n) =>
        append(history, ONE, { occurredAtMs: NOW - 3 + n, links: tailOf(ONE, user) }),
      );
      append(history, TWO, { occurredAtMs: NOW, links: tailOf(TWO, 'ann') });
      const target = targets.find(ONE, 'entity.user', 'ann');
      if (target === null) throw new Error('this is a link');
      expect(await idsOf(history, ONE, { filter: { links: [target] } })).toEqual([ids[2], ids[0]]);
      expect(await idsOf(history, TWO, { filter: { links: [target] } })).toEqual([]);
    });
  });
}
