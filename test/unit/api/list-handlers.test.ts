import { describe, expect, test } from 'vitest';
import type { ParsedObject } from '../../../src/contract/json-body.ts';
import { LIST_BATCH_BODY, LIST_ENTRY_BODY } from '../../../src/api/kit/body-readers.ts';
import type { BodyReader } from '../../../src/api/kit/request-body.ts';
import { listHandlers } from '../../../src/api/lists/list-handlers.ts';
import type { EndpointFactory } from '../../../src/api/kit/endpoint-factory.ts';
import type { EndpointResponse, EndpointHandler, EndpointRequest } from '../../../src/api/kit/endpoint-types.ts';
import { ListKeys } from '../../../src/risk/lists/list-key.ts';
import { Cursors } from '../../../src/api/kit/paging.ts';
import { freeSlices } from '../../support/slices.ts';
import { LIST_ENTRIES_PER_CUSTOMER_MAX } from '../../../src/kernel/limits.ts';
import { openDecisionLog } from '../../../src/history/open-decision-log.ts';
import { customer, hashOf, tempStore } from '../state/support.ts';

const READERS: Readonly<Record<string, BodyReader<unknown>>> = {
  putEntry: LIST_ENTRY_BODY,
  putEntries: LIST_BATCH_BODY,
};

type Told = readonly [customer: number, hashes: readonly string[], nowSeconds: number];

/** Returns the list's handlers on a store of their own, and the blocks they reported. */
function setUp(rows: number | null = null) {
  const store = tempStore();
  const { lists, changes, registry } = store;
  const told: Told[] = [];
  const unwrapped = (_options: object, handler: EndpointHandler): EndpointHandler => handler;
  const handlers = listHandlers(unwrapped as unknown as EndpointFactory, {
    lists,
    changes,
    registry,
    cursors: new Cursors(Buffer.alloc(32)),
    fingerprints: { find: () => ({ isSeen: true, isBrowser: false, networks24h: 1, isCommon: false }) },
    decisions: openDecisionLog(store),
    listKeys: new ListKeys(Buffer.alloc(32, 7)),
    linkSecret: Buffer.alloc(32, 7),
    hasAsnData: () => true,
    keepsIdentities: () => false,
    entriesOf: (of) => rows ?? store.tables.rowCounters.get('lists', of),
    onBlocked(of, hashes, at) {
      told.push([of, hashes, at]);
      return Promise.resolve({ kind: 'ok', value: null });
    },
  }) as unknown as Readonly<Record<string, EndpointHandler>>;

  async function ask(
    name: string,
    body: ParsedObject | null,
    hash = '',
    nowSeconds = 100,
    query = '',
  ): Promise<EndpointResponse> {
    const handler = handlers[name];
    if (handler === undefined) throw new Error(`there is no ${name}`);
    const request = {
      caller: { customer: customer(7), key: { prefix: 'sk_live_test' } },
      params: { fingerprint_hash: hash },
      query: new URLSearchParams(query),
      nowMs: nowSeconds * 1000,
      body: READERS[name]?.read(body ?? {}, nowSeconds * 1000) ?? null,
      nowSeconds,
      slices: freeSlices(),
    };
    return handler(request as unknown as EndpointRequest);
  }

  const put = (seed: number, action: string, extra: object = {}, nowSeconds = 100): Promise<EndpointResponse> =>
    ask('putEntry', { fingerprint_hash: hashOf(seed), action, ...extra }, '', nowSeconds);
  const batch = (...entries: readonly (readonly [seed: number, action: string])[]): Promise<EndpointResponse> =>
    ask('putEntries', {
      entries: entries.map(([seed, action]) => ({ fingerprint_hash: hashOf(seed), action })),
    });
  const remove = (seed: number): Promise<EndpointResponse> => ask('removeEntry', null, hashOf(seed));
  const dryRun = (...entries: readonly object[]): Promise<EndpointResponse> =>
    ask('putEntries', { entries }, '', 100, 'dry_run=true');
  return { put, batch, remove, told, dryRun };
}

describe('blocks that the list reports to the registry', () => {
  test('Each write of a block is reported, a repeated one too, and the end of a block is not', async () => {
    const { put, remove, told } = setUp();
    await put(1, 'block');
    await put(1, 'block', {}, 101);
    await put(1, 'watch');
    await put(1, 'block');
    await remove(1);
    expect(told).toEqual([
      [7, [hashOf(1)], 100],
      [7, [hashOf(1)], 101],
      [7, [hashOf(1)], 100],
    ]);
  });

  test('Nothing is reported for other entries, for invalid entries, and for a removal without an entry', async () => {
    const { put, remove, told } = setUp();
    await put(1, 'allow');
    await put(1, 'watch');
    await put(2, 'deny');
    await remove(1);
    await remove(2);
    expect(told).toEqual([]);
  });

  test('A batch is reported once, with the fingerprints whose last entry is a block', async () => {
    const { put, batch, told } = setUp();
    for (const seed of [1, 2, 3]) await put(seed, 'block');
    told.length = 0;
    await batch([1, 'allow'], [2, 'watch'], [2, 'block'], [4, 'block'], [5, 'block'], [5, 'allow'], [6, 'deny']);
    expect(told).toEqual([[7, [hashOf(2), hashOf(4)], 100]]);
  });

  test('The end of a block is not reported, whether it expires or is replaced', async () => {
    const { put, told } = setUp();
    await put(1, 'block', { expires_at: 150 });
    await put(1, 'allow', {}, 200);
    expect(told).toEqual([[7, [hashOf(1)], 100]]);
  });
});

test('A dry run that would exceed the limit of the list is refused, as the write would be', async () => {
  const { dryRun } = setUp(LIST_ENTRIES_PER_CUSTOMER_MAX);
  const entry = { fingerprint_hash: hashOf(1), action: 'block' };
  expect(await dryRun(entry)).toMatchObject({ kind: 'problem', problem: { code: 'limit_reached' } });
  const { dryRun: fitting } = setUp(LIST_ENTRIES_PER_CUSTOMER_MAX - 1);
  // Both name one fingerprint, which is one entry.
  expect(await fitting(entry, entry)).toMatchObject({ kind: 'pieces', status: 200 });
});
