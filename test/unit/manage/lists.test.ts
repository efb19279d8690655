import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json-body.ts';
import { LIST_BATCH, LIST_ENTRY } from '../../../src/manage/bodies.ts';
import type { BodyReader } from '../../../src/manage/body.ts';
import { listRoutes } from '../../../src/manage/lists.ts';
import type { Managed, ManagedAnswer, ManagedHandler, ManagedRequest } from '../../../src/manage/managed.ts';
import { Cursors } from '../../../src/manage/paging.ts';
import { freeSlices } from '../../support/slices.ts';
import { customer, hashOf, tempStore } from '../store/support.ts';

const READERS: Readonly<Record<string, BodyReader<unknown>>> = {
  'POST /v1/lists': LIST_ENTRY,
  'POST /v1/lists/batch': LIST_BATCH,
};

type Told = readonly [customer: number, hashes: readonly string[], nowSeconds: number];

/** The list's handlers on a store of their own, and what they told of blocks. */
function setUp() {
  const { lists, registry } = tempStore();
  const told: Told[] = [];
  const handlers = new Map<string, ManagedHandler>();
  const unwrapped = Object.assign((_options: object, handler: ManagedHandler) => handler, {
    route(path: string, methods: Readonly<Record<string, ManagedHandler>>) {
      for (const [method, handler] of Object.entries(methods)) handlers.set(`${method} ${path}`, handler);
      return { path };
    },
  });
  listRoutes(unwrapped as unknown as Managed, {
    lists,
    registry,
    cursors: new Cursors(Buffer.alloc(32)),
    fingerprints: { find: () => ({ isSeen: true, networks24h: 1, isCommon: false }) },
    onBlocked(of, hashes, at) {
      told.push([of, hashes, at]);
      return Promise.resolve({ kind: 'ok', value: null });
    },
  });

  async function ask(name: string, body: JsonObject | null, hash = '', nowSeconds = 100): Promise<ManagedAnswer> {
    const handler = handlers.get(name);
    if (handler === undefined) throw new Error(`there is no ${name}`);
    const request = {
      caller: { customer: customer(7) },
      params: { fingerprint_hash: hash },
      query: new URLSearchParams(),
      body: READERS[name]?.read(body ?? {}, nowSeconds * 1000) ?? null,
      nowSeconds,
      slices: freeSlices(),
    };
    return handler(request as unknown as ManagedRequest);
  }

  const put = (seed: number, action: string, extra: object = {}, nowSeconds = 100): Promise<ManagedAnswer> =>
    ask('POST /v1/lists', { fingerprint_hash: hashOf(seed), action, ...extra }, '', nowSeconds);
  const batch = (...entries: readonly (readonly [seed: number, action: string])[]): Promise<ManagedAnswer> =>
    ask('POST /v1/lists/batch', {
      entries: entries.map(([seed, action]) => ({ fingerprint_hash: hashOf(seed), action })),
    });
  const remove = (seed: number): Promise<ManagedAnswer> =>
    ask('DELETE /v1/lists/{fingerprint_hash}', null, hashOf(seed));
  return { put, batch, remove, told };
}

describe('what the registry is told of a list', () => {
  test('each block that is written, again too, and none that ends', async () => {
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

  test('nothing of other entries, of wrong ones, and of a removal without an entry', async () => {
    const { put, remove, told } = setUp();
    await put(1, 'allow');
    await put(1, 'watch');
    await put(2, 'deny');
    await remove(1);
    await remove(2);
    expect(told).toEqual([]);
  });

  test('of a batch how it ended for each fingerprint, once', async () => {
    const { put, batch, told } = setUp();
    for (const seed of [1, 2, 3]) await put(seed, 'block');
    told.length = 0;
    await batch([1, 'allow'], [2, 'watch'], [2, 'block'], [4, 'block'], [5, 'block'], [5, 'allow'], [6, 'deny']);
    expect(told).toEqual([[7, [hashOf(2), hashOf(4)], 100]]);
  });

  test('no end of a block, however it comes', async () => {
    const { put, told } = setUp();
    await put(1, 'block', { expires_at: 150 });
    await put(1, 'allow', {}, 200);
    expect(told).toEqual([[7, [hashOf(1)], 100]]);
  });
});
