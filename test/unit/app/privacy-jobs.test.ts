import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ERASURES_QUEUED_MAX, PrivacyJobs } from '../../../src/app/privacy-jobs.ts';
import { openDecisionLog } from '../../../src/history/open-decision-log.ts';
import type { DecisionLog } from '../../../src/history/decision-log.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { Log } from '../../../src/observe/log.ts';
import { PersonMarker } from '../../../src/privacy/person.ts';
import { ListKeys } from '../../../src/risk/lists/list-key.ts';
import type { Store } from '../../../src/state/feed/open-store.ts';
import { ERASURES_PER_CUSTOMER_MAX } from '../../../src/state/tables/erasure-table.ts';
import { eventually } from '../../support/webhooks.ts';
import { writesOf } from '../../support/writes.ts';
import { recordOf } from '../state/decision-log-support.ts';
import { open, tempFolder, value } from '../state/support.ts';

const NOW_MS = Date.now();
const keyFor = (purpose: string): Buffer => createHash('sha256').update(purpose).digest();

interface World {
  readonly store: Store;
  readonly decisions: DecisionLog;
  readonly customers: readonly CustomerNumber[];
  /** Ids of erasures, in the order in which they were carried out. */
  readonly erased: string[];
  /** Starts jobs over the store, as the start of a server does. */
  readonly start: () => PrivacyJobs;
  /** Plants a list entry about a mailbox. */
  readonly list: (customer: CustomerNumber, email: string) => Promise<void>;
  /** Returns whether the files of the store hold a text. */
  readonly holds: (text: string) => boolean;
}

async function world(customers = 1): Promise<World> {
  const folder = tempFolder();
  const store = open(folder);
  onTestFinished(() => store.close());
  const writes = writesOf(store);
  const made: CustomerNumber[] = [];
  for (let n = 0; n < customers; n++) made.push((await value(writes.customers.create(`customer ${n}`, NOW_MS))).number);
  const decisions = openDecisionLog(store);
  const marker = new PersonMarker({ links: keyFor('links'), lists: keyFor('lists'), marks: keyFor('marks') });
  const keys = new ListKeys(keyFor('lists'));
  const erased: string[] = [];
  const note = (fields: { readonly id?: string }, text: string): void => {
    if (text === 'a person was erased') erased.push(fields.id ?? '');
  };
  const log = { info: note, warn: note, error: note } as unknown as Log;
  const exports = { forget: () => 0 };
  const parts = { store, decisions, dataDir: folder, keyFor, velocity: null, changes: store.changes, marker };
  return {
    store,
    decisions,
    customers: made,
    erased,
    start() {
      const jobs = new PrivacyJobs({ ...parts, saveHistory: () => Promise.resolve(), exports }, () => Date.now(), log);
      void jobs.start();
      onTestFinished(() => jobs.close());
      return jobs;
    },
    async list(customer, email) {
      const fingerprintHash = keys.keyOf(customer, { kind: 'email', value: email });
      const entry = { fingerprintHash, kind: 'email', value: email, action: 'watch', note: email } as const;
      await value(writes.lists.put(customer, { ...entry, expiresAtSeconds: null }, NOW_MS / 1_000 - 10));
    },
    holds: (text) => readFileSync(join(folder, 'state', 'data.mdb')).includes(text),
  };
}

async function ask(jobs: PrivacyJobs, customer: CustomerNumber, email: string): Promise<string> {
  const wish = { customer, subject: 'entity.email', value: email, keepBlocks: true };
  const asked = await jobs.erase(wish, { by: 'service', nowMs: Date.now() });
  if (typeof asked === 'string' || 'code' in asked) throw new Error(JSON.stringify(asked));
  return asked.id;
}

async function ended(jobs: PrivacyJobs, customer: CustomerNumber, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await eventually(`the end of ${id}`, () =>
      Promise.resolve(jobs.find(customer, id)?.status === 'succeeded' ? true : null),
    );
  }
}

/** Returns the transactions of a store's environments that `work` takes. */
async function transactions(store: Store, work: () => Promise<void>): Promise<number> {
  const spies = [vi.spyOn(store.state, 'transaction')];
  if (store.hot !== null) spies.push(vi.spyOn(store.hot, 'transaction'));
  await work();
  const count = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  for (const spy of spies) spy.mockRestore();
  return count;
}

describe('the queue of erasures', () => {
  test('Erasures that find nothing fill no pages, and ten that wait fill them once', async () => {
    const of = async (people: number, isListed: boolean): Promise<number> => {
      const { store, customers, start, list, holds } = await world();
      const customer = customers[0] as CustomerNumber;
      const emails = Array.from({ length: people }, (_, n) => `person${n}@shop.example`);
      if (isListed) for (const email of emails) await list(customer, email);
      const jobs = start();
      const taken = await transactions(store, async () => {
        const ids = await Promise.all(emails.map((email) => ask(jobs, customer, email)));
        await ended(jobs, customer, ids);
      });
      expect(holds('person0@shop.example')).toBe(false);
      return taken;
    };
    const [none, one, ten] = [await of(10, false), await of(1, true), await of(10, true)];
    // What each erasure records: that it was asked for, carried out and ended.
    const own = none / 10;
    expect(own).toBeLessThan(5);
    expect(one).toBeGreaterThan(3 * own);
    expect(ten - 10 * own).toBeLessThan(2 * one + 10);
  });

  test('A stop interrupts an erasure; the next start removes the traces of what is gone already', async () => {
    const { store, customers, start, list, holds } = await world();
    const customer = customers[0] as CustomerNumber;
    await list(customer, 'anna@shop.example');
    const first = start();
    const id = await ask(first, customer, 'anna@shop.example');
    await eventually('the removal of the row', () => Promise.resolve(store.lists.isEmpty() ? true : null));
    await first.close();
    expect([first.find(customer, id)?.finish, holds('anna@shop.example')]).toEqual([null, true]);
    await ended(start(), customer, [id]);
    expect(holds('anna@shop.example')).toBe(false);
  });

  test('Customers take turns', async () => {
    const { customers, start, erased } = await world(2);
    const [one, two] = customers as [CustomerNumber, CustomerNumber];
    const jobs = start();
    const ofOne = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(jobs, one, `person${n}@shop.example`)));
    const ofTwo = await ask(jobs, two, 'anna@shop.example');
    await ended(jobs, one, ofOne);
    await ended(jobs, two, [ofTwo]);
    expect(erased).toHaveLength(21);
    expect(erased.indexOf(ofTwo)).toBeLessThan(20);
  });

  test('A customer with too many that wait is refused, and others are not', async () => {
    const { customers, start } = await world(2);
    const [one, two] = customers as [CustomerNumber, CustomerNumber];
    const jobs = start();
    const wish = { customer: one, subject: 'ip', value: '203.0.113.7', keepBlocks: true };
    const asked = Array.from({ length: ERASURES_QUEUED_MAX }, () => jobs.erase(wish, { by: 'service', nowMs: NOW_MS }));
    expect(await jobs.erase(wish, { by: 'service', nowMs: NOW_MS })).toBe('queue_full');
    expect(await ask(jobs, two, 'anna@shop.example')).toMatch(/^prv_/);
    await Promise.all(asked);
  });

  test('An erasure beyond the limit is not filed, so that no start reads it again', async () => {
    const { store, customers, start } = await world();
    const customer = customers[0] as CustomerNumber;
    vi.spyOn(store.erasures, 'count').mockReturnValue(ERASURES_PER_CUSTOMER_MAX);
    const wish = { customer, subject: 'ip', value: '203.0.113.7', keepBlocks: true };
    expect(await start().erase(wish, { by: 'service', nowMs: NOW_MS })).toBe('limit_reached');
    expect(existsSync(join(store.dataDir, 'erasures.log'))).toBe(false);
  });

  test('Notes are looked up, and a change is made only where there is one', async () => {
    const { store, decisions, customers, start } = await world();
    const customer = customers[0] as CustomerNumber;
    const visited = vi.spyOn(decisions, 'visitAbout').mockImplementation((_customer, _rows, _slices, visit) => {
      for (let n = 0; n < 300; n++) {
        const { bytes } = recordOf({ occurredAtMs: NOW_MS });
        visit(bytes, 0, bytes.length);
      }
      return Promise.resolve();
    });
    const commit = vi.spyOn(store.changes, 'commit');
    const jobs = start();
    await ended(jobs, customer, [await ask(jobs, customer, 'anna@shop.example')]);
    expect(visited).toHaveBeenCalledOnce();
    expect(commit.mock.calls.map(([{ kind }]) => kind)).toEqual(['erasure.requested', 'erasure.finished']);
  });
});
