import { describe, expect, it } from 'vitest';
import type { FoundRecord, JsonObject, Operation } from '../../../../../src/extract/base/connector.ts';
import {
  chained,
  type Cursor,
  type PageResult,
  type ChainTurn,
} from '../../../../../src/extract/connectors/kit/chain.ts';
import { inputSchema, recordSchema } from '../../../../../src/extract/connectors/kit/schema.ts';
import { runOperation } from '../../../../conformance/run-operation.ts';
import { fakeSource } from '../../../../support/fake-source.ts';

const SOURCE = fakeSource(() => null);

function chainOf(
  read: (turn: ChainTurn<JsonObject>) => PageResult<JsonObject>,
  sizing: 'fixed' | 'free' = 'free',
): Operation {
  return chained<JsonObject>({
    name: 'site.posts',
    description: 'Posts.',
    paging: 'Pages.',
    tier: 'basic',
    input: inputSchema({}, []),
    record: recordSchema({}),
    example: { input: {}, record: {} },
    pageSizeMax: 100,
    sizing,
    begin: () => ({ kind: 'args', args: {} }),
    read: (turn) => Promise.resolve(read(turn)),
  });
}

function page(ids: readonly (string | number)[], next: Cursor): PageResult<JsonObject> {
  const records = ids.map((id): FoundRecord => ({ id: String(id), sourceUrl: 'https://x.example/', fields: {} }));
  return { kind: 'page', records, next, total: null };
}

describe('chained', () => {
  it('a list that ends without saying so is reported as unreadable, unless the job wants no more of it', async () => {
    const operation = chainOf(() => ({ ...page([1, 2], null), mayGoOn: 'a full page' }) as PageResult<JsonObject>);
    const begun = operation.start({});
    const state = begun.kind === 'steps' ? (begun.steps[0]?.state ?? {}) : {};
    expect((await operation.run(state, SOURCE, { recordsLeft: 3 })).unreadable).toEqual([
      { reason: 'parse_failed', detail: 'a full page', isFetched: true },
    ]);
    expect((await operation.run(state, SOURCE, { recordsLeft: 2 })).unreadable).toBeUndefined();
  });

  it('a chain requests page sizes that fit what is wanted, a different one for each page if allowed', async () => {
    const sizes: number[] = [];
    const read = ({ at, size }: ChainTurn<JsonObject>) => {
      sizes.push(size);
      const from = Number(at ?? 0);
      return page(
        Array.from({ length: size }, (_, place) => from + place),
        from + size,
      );
    };
    await runOperation(chainOf(read), {}, SOURCE, { limit: 250 });
    expect(sizes.splice(0)).toEqual([100, 100, 50]);
    await runOperation(chainOf(read, 'fixed'), {}, SOURCE, { limit: 130 });
    expect(sizes.splice(0)).toEqual([100, 100]);
    await runOperation(chainOf(read, 'fixed'), {}, SOURCE, { limit: 30 });
    expect(sizes).toEqual([30]);
  });

  it.each([1, 2, 3, 5, 7, 8, 9, 31, 64, 100])(
    'a chain detects a source that repeats itself after %i pages',
    async (length) => {
      const read = ({ at }: ChainTurn<JsonObject>) => page([Number(at ?? 0) % length], Number(at ?? 0) + 1);
      const { isDone, records, stepCount } = await runOperation(chainOf(read), {}, SOURCE, { stepsMax: 1_000 });
      expect([isDone, records.length]).toEqual([true, length]);
      expect(stepCount).toBeLessThanOrEqual(3 * length + 2);
    },
  );

  it('a chain does not mistake empty pages for a cycle, and ends after many of them', async () => {
    const late = ({ at }: ChainTurn<JsonObject>) =>
      page(Number(at ?? 0) === 40 ? ['x'] : [], Number(at ?? 0) === 40 ? null : Number(at ?? 0) + 1);
    expect((await runOperation(chainOf(late), {}, SOURCE)).records).toHaveLength(1);
    const never = ({ at }: ChainTurn<JsonObject>) => page([], Number(at ?? 0) + 1);
    const { isDone, stepCount } = await runOperation(chainOf(never), {}, SOURCE);
    expect([isDone, stepCount]).toEqual([true, 51]);
  });

  it('a chain ends when a cursor occurs again', async () => {
    const read = ({ at }: ChainTurn<JsonObject>) => page([`${at}-${Math.random()}`], at === 'b' ? 'a' : 'b');
    expect(await runOperation(chainOf(read), {}, SOURCE)).toMatchObject({ isDone: true, stepCount: 3 });
  });

  it('a chain rejects a cursor that would make its step too large', async () => {
    const run = runOperation(
      chainOf(() => page(['x'], 'c'.repeat(2_000))),
      {},
      SOURCE,
    );
    await expect(run).rejects.toMatchObject({ reason: 'parse_failed' });
  });

  it('a chain limits the pause that a source asks for', async () => {
    const read = ({ at }: ChainTurn<JsonObject>): PageResult<JsonObject> =>
      at === null ? { ...page(['x'], 'y'), pauseSeconds: 1e9 } : page(['z'], null);
    expect((await runOperation(chainOf(read), {}, SOURCE)).pauses).toEqual([3_600]);
  });
});
