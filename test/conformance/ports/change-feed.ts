import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Committed, Origin } from '../../../src/ports/change-feed.ts';
import { LIST_ACTIONS, type ListAction } from '../../../src/risk/decision.ts';
import type { Change, ChangeKind, ChangeOf, OutcomeOf, StateFeed } from '../../../src/state/feed/changes.ts';
import { newCustomer } from '../../../src/state/feed/key-changes.ts';
import type { StateTables } from '../../../src/state/tables/state-tables.ts';
import type { Webhook, WebhookId } from '../../../src/work/webhook.ts';
import { newId } from '../../../src/kernel/ids.ts';
import { customer, hashOf, value } from '../../unit/state/support.ts';

/** One node: its own feed and its own tables, which it reads. */
export interface ChangeFeedNode {
  readonly feed: StateFeed;
  readonly tables: Pick<StateTables, 'apiKeys' | 'customers' | 'lists' | 'webhooks'>;
}

/** The nodes that share one feed: one of a single machine, at least two of a cluster. */
export interface ChangeFeedSubject {
  readonly nodes: readonly ChangeFeedNode[];
  /** Resolves when every node has applied what was acknowledged anywhere before this call. */
  readonly caughtUp: () => Promise<void>;
  /** Kills all nodes and starts them again on their own tables. */
  readonly restart: () => Promise<ChangeFeedSubject>;
}

/** Opens empty nodes with these limits. */
export type ChangeFeedFactory = (bounds: {
  readonly listEntries: number;
  readonly webhooks: number;
}) => Promise<ChangeFeedSubject>;

const NOW = Date.UTC(2026, 10, 23, 12);
const NOW_SECONDS = NOW / 1_000;
const ORIGIN: Origin = { by: 'service', nowMs: NOW };
const BOUNDS = { listEntries: 50, webhooks: 5 };
const ONE = customer(1);

/** Tests what `src/ports/change-feed.ts` promises. Commits of a test are spread over the nodes. */
export function describeChangeFeed(adapter: string, open: ChangeFeedFactory): void {
  let turn = 0;

  function commit<Kind extends ChangeKind>(
    { nodes }: ChangeFeedSubject,
    change: ChangeOf<Kind> & Change,
    origin = ORIGIN,
  ): Promise<OutcomeOf<Kind>> {
    const node = nodes[turn++ % nodes.length];
    if (node === undefined) throw new Error('a subject needs a node');
    return value(node.feed.commit(change, origin)) as Promise<OutcomeOf<Kind>>;
  }

  const put = (subject: ChangeFeedSubject, seed: number, note: string | null = null, nowMs = NOW) =>
    commit<'list.put'>(subject, putChange(seed, note), { ...ORIGIN, nowMs });

  describe(`the change feed, ${adapter}`, () => {
    test('A node reads its own change as soon as its commit has resolved', async () => {
      const { nodes } = await open(BOUNDS);
      for (const [n, { feed, tables }] of [...nodes, ...nodes, ...nodes].entries()) {
        await value(feed.commit(putChange(n, `note ${n}`), ORIGIN));
        expect(tables.lists.get(ONE, hashOf(n), NOW_SECONDS)).toMatchObject({ note: `note ${n}` });
      }
    });

    test('Every node gets every change, and concurrent changes of one row end alike everywhere', async () => {
      const subject = await open(BOUNDS);
      await Promise.all(Array.from({ length: 60 }, (_none, n) => put(subject, n % 7, `note ${n}`)));
      await subject.caughtUp();
      const rows = subject.nodes.map(({ tables }) =>
        Array.from({ length: 7 }, (_none, seed) => tables.lists.get(ONE, hashOf(seed), NOW_SECONDS)),
      );
      expect(rows[0]?.every((row) => row !== null)).toBe(true);
      for (const row of rows) expect(row).toEqual(rows[0]);
    });

    test('Numbers are issued once, without gaps, and never again after a restart', async () => {
      const first = await open(BOUNDS);
      const made = await Promise.all(
        Array.from({ length: 20 }, (_none, n) => commit<'customer.created'>(first, newCustomer(`c${n}`, NOW))),
      );
      const numbers = made.map(({ number }) => Number(number)).toSorted((a, b) => a - b);
      expect(numbers).toEqual(Array.from({ length: 20 }, (_none, n) => n + 1));
      const keys = await Promise.all(
        Array.from({ length: 10 }, (_none, n) => commit<'key.created'>(first, keysChange(2 * n, 2))),
      );
      expect(new Set(keys.flat().map(({ number }) => number)).size).toBe(20);
      await first.caughtUp();
      const second = await first.restart();
      expect((await commit<'customer.created'>(second, newCustomer('next', NOW))).number).toBe(21);
      const [next] = await commit<'key.created'>(second, keysChange(90, 1));
      expect(keys.flat().map(({ number }) => number)).not.toContain(next?.number);
    });

    test('Limits hold for commits at the same time on all nodes', async () => {
      const subject = await open(BOUNDS);
      const webhooks = await Promise.all(
        Array.from({ length: 12 }, () => commit<'webhook.created'>(subject, webhookChange())),
      );
      expect(webhooks.filter((outcome) => outcome === 'created')).toHaveLength(BOUNDS.webhooks);
      const entries = await Promise.all(Array.from({ length: 70 }, (_none, n) => put(subject, n)));
      expect(entries.filter((outcome) => outcome === 'limit_reached')).toHaveLength(70 - BOUNDS.listEntries);
      await subject.caughtUp();
      for (const { tables } of subject.nodes) {
        expect(tables.webhooks.loadAll()).toHaveLength(BOUNDS.webhooks);
        const kept = Array.from({ length: 70 }, (_none, n) => tables.lists.get(ONE, hashOf(n), NOW_SECONDS));
        expect(kept.filter((entry) => entry !== null)).toHaveLength(BOUNDS.listEntries);
      }
    });

    test('Of changes that exclude each other one wins, and the outcome tells the others', async () => {
      const subject = await open(BOUNDS);
      const puts = await Promise.all(Array.from({ length: 10 }, () => put(subject, 3)));
      expect(puts.filter((outcome) => outcome !== 'limit_reached' && outcome.created)).toHaveLength(1);

      await commit<'key.created'>(subject, keysChange(1, 1));
      await subject.caughtUp();
      const revoked = await Promise.all(
        Array.from({ length: 6 }, () => commit<'key.revoked'>(subject, { kind: 'key.revoked', hash: keyHash(1) })),
      );
      expect(revoked.toSorted()).toEqual([...Array.from({ length: 5 }, () => 'already_revoked'), 'revoked']);

      const created = webhookChange();
      await commit<'webhook.created'>(subject, created);
      await subject.caughtUp();
      const rotations = await Promise.all(
        Array.from({ length: 6 }, (_none, n) =>
          commit<'webhook.rotated'>(subject, {
            kind: 'webhook.rotated',
            customer: ONE,
            id: created.webhook.id,
            sealed: Buffer.from(`secret ${n}`),
            replaces: created.sealed,
          }),
        ),
      );
      expect(rotations.filter((outcome) => outcome === 'conflict')).toHaveLength(5);
    });

    test('A change of what was removed changes nothing and does not bring it back', async () => {
      const subject = await open(BOUNDS);
      const { kind: _kind, webhook, sealed } = webhookChange();
      await commit<'webhook.created'>(subject, { kind: 'webhook.created', webhook, sealed });
      const { id } = webhook;
      expect(await commit<'webhook.removed'>(subject, { kind: 'webhook.removed', customer: ONE, id })).toBe(true);
      const change = { customer: ONE, id, change: { disabled: true } } as const;
      expect(await commit<'webhook.changed'>(subject, { kind: 'webhook.changed', ...change })).toBeNull();
      await commit<'webhook.health'>(subject, { kind: 'webhook.health', changed: [webhook] });
      await subject.caughtUp();
      for (const { tables } of subject.nodes) expect(tables.webhooks.find(ONE, id)).toBeNull();
    });

    test('Listeners of every node get each change once, in one order, before the commit on their node resolves', async () => {
      const subject = await open(BOUNDS);
      const heard = subject.nodes.map(({ feed }) => listen(feed));
      const node = subject.nodes[0];
      await value(node?.feed.commit(putChange(0, 'first'), { by: 'cli', nowMs: NOW + 1 }) ?? never());
      expect(heard[0]?.changes).toEqual([{ by: 'cli', nowMs: NOW + 1, change: putChange(0, 'first') }]);
      await Promise.all(Array.from({ length: 40 }, (_none, n) => put(subject, n % 5, `note ${n}`)));
      await subject.caughtUp();
      const notes = heard.map(({ changes }) => changes.map(({ change }) => noteOf(change)));
      const all = ['first', ...Array.from({ length: 40 }, (_none, n) => `note ${n}`)];
      expect(notes[0]).toHaveLength(all.length);
      expect(new Set(notes[0])).toEqual(new Set(all));
      for (const list of notes) expect(list).toEqual(notes[0]);
      // The order is that of applying: the last change of a row that was heard is the one that stayed.
      for (const { tables } of subject.nodes) {
        for (let seed = 0; seed < 5; seed++) {
          const last = heard[0]?.changes.map(({ change }) => change).findLast((change) => isPutOf(change, seed));
          const entry = tables.lists.get(ONE, hashOf(seed), NOW_SECONDS);
          expect(entry?.note).toBe(last === undefined ? undefined : noteOf(last));
        }
      }
    });

    test('A listener that was ended hears nothing more, and others still do', async () => {
      const { nodes } = await open(BOUNDS);
      const feed = nodes[0]?.feed ?? never();
      const [ended, stays] = [listen(feed), listen(feed)];
      ended.end();
      await value(feed.commit(putChange(1, 'later'), ORIGIN));
      expect([ended.changes.length, stays.changes.length]).toEqual([0, 1]);
    });

    test('After a restart every acknowledged change is there, and listeners hear later ones only, once each', async () => {
      const first = await open(BOUNDS);
      await Promise.all(Array.from({ length: 30 }, (_none, n) => put(first, n, `note ${n}`)));
      await first.caughtUp();
      const second = await first.restart();
      for (const { tables } of second.nodes)
        for (let n = 0; n < 30; n++)
          expect(tables.lists.get(ONE, hashOf(n), NOW_SECONDS)).toMatchObject({ note: `note ${n}` });
      const heard = second.nodes.map(({ feed }) => listen(feed));
      for (let n = 0; n < 6; n++) await put(second, n, `again ${n}`);
      await second.caughtUp();
      for (const { changes } of heard)
        expect(changes.map(({ change }) => noteOf(change))).toEqual(
          Array.from({ length: 6 }, (_none, n) => `again ${n}`),
        );
    });

    test('Any sequence of changes has the outcomes and leaves the rows of a model', async () => {
      const step = fc.record({
        kind: fc.constantFrom('put', 'put', 'remove'),
        seed: fc.integer({ min: 0, max: 6 }),
        action: fc.constantFrom(...LIST_ACTIONS),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
          const subject = await open({ ...BOUNDS, listEntries: 4 });
          const model = new Map<number, string>();
          for (const { kind, seed, action } of steps) {
            if (kind === 'remove') {
              const change = { kind: 'list.removed', customer: ONE, fingerprintHash: hashOf(seed) } as const;
              expect(await commit<'list.removed'>(subject, change)).toBe(model.delete(seed));
              continue;
            }
            const outcome = await commit<'list.put'>(subject, { ...putChange(seed, null, action) });
            const isFull = !model.has(seed) && model.size === 4;
            expect(outcome === 'limit_reached' ? outcome : outcome.created).toBe(
              isFull ? 'limit_reached' : !model.has(seed),
            );
            if (!isFull) model.set(seed, action);
          }
          await subject.caughtUp();
          for (const { tables } of subject.nodes)
            for (let seed = 0; seed <= 6; seed++)
              expect(tables.lists.get(ONE, hashOf(seed), NOW_SECONDS)?.action).toBe(model.get(seed));
        }),
        { numRuns: 15 },
      );
    });
  });
}

interface Heard {
  readonly changes: Committed<Change>[];
  readonly end: () => void;
}

function listen(feed: StateFeed): Heard {
  const changes: Committed<Change>[] = [];
  return { changes, end: feed.onCommitted((committed) => changes.push(committed)) };
}

function putChange(seed: number, note: string | null, action: ListAction = 'block'): ChangeOf<'list.put'> {
  const entry = { fingerprintHash: hashOf(seed), action, note, expiresAtSeconds: null };
  return { kind: 'list.put', customer: ONE, entry };
}

function isPutOf(change: Change, seed: number): boolean {
  return change.kind === 'list.put' && change.entry.fingerprintHash === hashOf(seed);
}

function noteOf(change: Change): string | null {
  return change.kind === 'list.put' ? change.entry.note : null;
}

function keyHash(n: number): string {
  return n.toString(16).padStart(64, '0');
}

function keysChange(from: number, count: number): ChangeOf<'key.created'> {
  const keys = Array.from({ length: count }, (_none, n) => ({
    kind: 'secret' as const,
    hash: keyHash(from + n),
    prefix: 'sk_live_test',
    origins: [],
  }));
  return { kind: 'key.created', customer: ONE, rateLimit: null, keys };
}

function webhookChange(): ChangeOf<'webhook.created'> {
  const webhook: Webhook = {
    id: newId('wh', NOW) as WebhookId,
    customer: ONE,
    url: 'https://hooks.example.com/',
    eventTypes: ['BLOCK'],
    description: null,
    disabled: false,
    health: {
      status: 'healthy',
      consecutiveFailures: 0,
      cooldownMs: 0,
      unhealthySinceMs: null,
      nextProbeAtMs: null,
      lastSuccessAtMs: null,
      lastFailureAtMs: null,
    },
    createdAtMs: NOW,
    updatedAtMs: NOW,
  };
  return { kind: 'webhook.created', webhook, sealed: Buffer.from('secret') };
}

function never(): never {
  throw new Error('a subject needs a node');
}
