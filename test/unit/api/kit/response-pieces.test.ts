import { expect, test, vi } from 'vitest';
import { pageAnswer } from '../../../../src/api/kit/response-pieces.ts';
import { MANAGEMENT_SLICE_MS, PAGE_BYTES_MAX } from '../../../../src/kernel/limits.ts';
import { freeSlices } from '../../../support/slices.ts';

type Page = Awaited<ReturnType<typeof pageAnswer>>;

async function bodyOf(page: Page): Promise<unknown> {
  if (page.kind !== 'pieces') throw new Error(`the page is ${page.kind}`);
  return JSON.parse(Buffer.concat(page.pieces.map((piece) => Buffer.from(piece))).toString());
}

const ROWS = Array.from({ length: 20 }, (_, n) => n);

test('A page whose rows take as long as a slice begins a slice after each row', async () => {
  const slices = freeSlices();
  const begin = vi.spyOn(slices, 'begin');
  const show = (n: number): object => {
    const until = performance.now() + MANAGEMENT_SLICE_MS;
    while (performance.now() < until);
    return { n };
  };
  const page = await pageAnswer(slices, ROWS, (n) => ({ ...show(n) }), null);
  expect(begin.mock.calls.length).toBeGreaterThanOrEqual(ROWS.length);
  expect(await bodyOf(page)).toEqual({ data: ROWS.map((n) => ({ n })), has_more: false, next_cursor: null });
});

test('A page that is full ends after the row that filled it, and its cursor names that row', async () => {
  const text = 'x'.repeat(PAGE_BYTES_MAX / 4);
  const page = await pageAnswer(
    freeSlices(),
    ROWS,
    (n) => ({ n, text }),
    'the end',
    (n) => `after ${n}`,
  );
  const { data, ...rest } = (await bodyOf(page)) as { data: { n: number }[] };
  expect(data.map(({ n }) => n)).toEqual([0, 1, 2, 3]);
  expect(rest).toEqual({ has_more: true, next_cursor: 'after 3' });
});
