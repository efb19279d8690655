import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LIST_ACTIONS } from '../../../src/risk/decision.ts';
import { apply } from '../../../src/state/feed/apply.ts';
import type { Change } from '../../../src/state/feed/changes.ts';
import { durably } from '../../../src/state/tables/durable.ts';
import { table } from '../../../src/state/tables/environment.ts';
import { newCustomer } from '../../../src/state/feed/key-changes.ts';
import type { Store } from '../../../src/state/feed/open-store.ts';
import { STATE_BOUNDS } from '../../../src/state/tables/state-tables.ts';
import { boundedFeed, writesOf } from '../../support/writes.ts';
import { customer, hashOf, tempStore, value } from './support.ts';

const NOW = 1_790_000_000_000;
const ORIGIN = { by: 'key:sk_live_test', nowMs: NOW } as const;

/** Returns all rows of the lists, and the counter. */
function listsIn(store: Store): unknown {
  const rows = [...table(store.state, 'lists').getRange()];
  const hex = rows.map(({ key, value: stored }) => [
    Buffer.from(key).toString('hex'),
    Buffer.from(stored).toString('hex'),
  ]);
  return [hex, store.tables.rowCounters.get('lists', customer(1))];
}

describe('the change feed', () => {
  test('Listeners get each applied change before its commit resolves, and none that failed', async () => {
    const store = tempStore();
    const seen: string[] = [];
    const stop = store.changes.onCommitted(({ change, by }) => seen.push(`${change.kind} ${by}`));
    const made = store.changes.commit(newCustomer('Acme', NOW), ORIGIN).then((written) => {
      seen.push('resolved');
      return written;
    });
    expect((await value(made)).number).toBe(1);
    expect(seen).toEqual(['customer.created key:sk_live_test', 'resolved']);
    const { fingerprintHash } = { fingerprintHash: hashOf(1) };
    await value(store.changes.commit({ kind: 'registry.removed', fingerprintHash }, { by: 'cli', nowMs: NOW }));
    stop();
    await value(store.changes.commit(newCustomer('Bolt', NOW), ORIGIN));
    expect(seen.slice(2)).toEqual(['registry.removed cli']);
  });

  test('A batch of list entries leaves the same rows and outcome whether it is written in steps or in one transaction', async () => {
    const entry = fc.record({
      seed: fc.integer({ min: 0, max: 70 }),
      action: fc.constantFrom(...LIST_ACTIONS),
      expiresAtSeconds: fc.option(fc.constantFrom(NOW / 1000 - 5, NOW / 1000 + 5)),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 40 }),
        fc.array(entry, { minLength: 51, maxLength: 90 }),
        fc.integer({ min: 20, max: 80 }),
        async (before, batch, listEntries) => {
          const outcomes: unknown[] = [];
          const rows: unknown[] = [];
          for (const inSteps of [true, false]) {
            const store = tempStore();
            const feed = boundedFeed(store, { listEntries });
            const changes = (entries: typeof before): Change & { kind: 'list.batch' } => ({
              kind: 'list.batch',
              customer: customer(1),
              entries: entries.map(({ seed, ...rest }) => ({ fingerprintHash: hashOf(seed), note: null, ...rest })),
            });
            await value(feed.commit(changes(before), { ...ORIGIN, nowMs: NOW - 10_000 }));
            const change = changes(batch);
            const bounds = { ...STATE_BOUNDS, listEntries };
            const written = inSteps
              ? feed.commit(change, ORIGIN)
              : durably(store.state, () => apply(store.tables, change, ORIGIN, bounds));
            outcomes.push(await value(written));
            rows.push(listsIn(store));
          }
          expect(outcomes[0]).toEqual(outcomes[1]);
          expect(rows[0]).toEqual(rows[1]);
        },
      ),
      { numRuns: 20 },
    );
  });

  test('Of two rotations that were made from the same secrets, the second is a conflict and changes nothing', async () => {
    const store = tempStore();
    const id = 'wh_01KAJ8Q5W00000000000000000';
    const webhook = {
      id,
      customer: customer(1),
      url: 'https://hooks.example.com/',
      eventTypes: ['BLOCK'],
      description: null,
      disabled: false,
      createdAtMs: NOW,
      updatedAtMs: NOW,
    } as unknown as Parameters<ReturnType<typeof writesOf>['webhooks']['create']>[1];
    const health = { status: 'healthy', consecutiveFailures: 0, cooldownMs: 0 } as const;
    const times = { unhealthySinceMs: null, nextProbeAtMs: null, lastSuccessAtMs: null, lastFailureAtMs: null };
    const key = Buffer.alloc(32, 1);
    await value(writesOf(store).webhooks.create(key, { ...webhook, health: { ...health, ...times } }, 'whsec_1'));
    const replaces = store.webhooks.sealed(customer(1), webhook.id)?.sealed ?? Buffer.alloc(0);
    const rotate = (sealed: string) =>
      store.changes.commit(
        { kind: 'webhook.rotated', customer: customer(1), id: webhook.id, sealed: Buffer.from(sealed), replaces },
        ORIGIN,
      );
    expect(await Promise.all([value(rotate('first')), value(rotate('second'))])).toEqual([
      expect.objectContaining({ id }),
      'conflict',
    ]);
    expect(Buffer.from(store.webhooks.sealed(customer(1), webhook.id)?.sealed ?? []).toString()).toBe('first');
  });
});
