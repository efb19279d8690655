import { describe, expect, test } from 'vitest';
import { readHtml } from '../../../../src/extract/read/html.ts';
import { readPageState } from '../../../../src/extract/read/page-state.ts';

function read(markup: string): ReturnType<typeof readPageState> {
  return readPageState(readHtml(markup, 'https://shop.example/'));
}

describe('the state of a page', () => {
  test('scripts with JSON are read, each under its id or its place', () => {
    const { blocks } = read(
      '<script id="__NEXT_DATA__" type="application/json">{"a":1}</script><script id="__NUXT_DATA__" type="application/json">[1]</script><script type="application/json">{"b":2}</script>',
    );
    expect(blocks).toEqual([
      { format: 'next', path: '#__NEXT_DATA__', data: { a: 1 } },
      { format: 'nuxt', path: '#__NUXT_DATA__', data: [1] },
      { format: 'json', path: 'script[2]', data: { b: 2 } },
    ]);
  });

  test('JSON that scripts assign to known variables is read, and nothing is run', () => {
    const { blocks } = read(
      String.raw`<script>window.__APOLLO_STATE__ = {"t":"}\"{"};window.__INITIAL_STATE__ = JSON.parse("{\"c\":3}");window.__NUXT__=(function(){return {d:1}})();</script>`,
    );
    expect(blocks).toEqual([
      { format: 'apollo', path: '__APOLLO_STATE__', data: { t: '}"{' } },
      { format: 'initial', path: '__INITIAL_STATE__', data: { c: 3 } },
    ]);
  });

  test('rows of React server components are joined from their pieces', () => {
    const { blocks } = read(
      String.raw`<script>self.__next_f.push([1,"1:I[5]\n2:{\"e\""])</script><script>self.__next_f.push([1,":4}\n"])</script>`,
    );
    expect(blocks).toEqual([{ format: 'rsc', path: '__next_f.2', data: { e: 4 } }]);
  });

  test('what is not JSON is left out, and what exceeds the limits is announced', () => {
    expect(read('<script type="application/json">{"a":undefined}</script>')).toEqual({ blocks: [], isCut: false });
    expect(read(`<script type="application/json">${'['.repeat(300)}</script>`)).toEqual({ blocks: [], isCut: true });
    expect(read(`<script type="application/json">["${'x'.repeat(1_100_000)}"]</script>`).isCut).toBe(true);
    expect(read('<script type="application/json">{}</script>'.repeat(1_001))).toMatchObject({ isCut: true });
  });
});
