import { expect, test } from 'vitest';
import { changesHandler } from '../../../../src/api/watches/watch-changes.ts';
import { feedOf } from '../../../../src/api/watches/watch-feeds.ts';
import { newFeedToken } from '../../../../src/api/watches/watch-wire.ts';
import type { Exchange, RequestHead } from '../../../../src/http/exchange.ts';
import type { Watch } from '../../../../src/work/watch.ts';
import { customer } from '../../state/support.ts';

const OWNER = customer(7);
const NOW_MS = Date.UTC(2026, 10, 23, 12);

/** Reads feeds of two watches whose changes have records of 16 KB. */
function reader({ isSuspended = false } = {}) {
  const token = newFeedToken(OWNER);
  const watch = { customer: OWNER, name: 'Shop', extraction: {}, createdAtMs: NOW_MS, tokenHash: token.hash };
  const change = (seq: number) => ({
    seq,
    atMs: NOW_MS,
    kind: 'new',
    keyJson: `{"id":${seq}}`,
    recordJson: JSON.stringify({ title: `Title ${seq}`, text: 'x'.repeat(16_000) }),
    beforeJson: null,
  });
  const handler = changesHandler((() => () => {}) as never, {
    watches: {
      find: (_owner: number, id: string) => ({ ...watch, id }),
      changes: (_watch: object, { limit }: { limit: number }) =>
        Array.from({ length: limit }, (_none, n) => change(limit - n)),
    } as never,
    cursors: {} as never,
    resetRead() {},
    isSuspended: () => isSuspended,
    nowMs: () => NOW_MS,
  });
  return (id: string) => {
    const sent = { status: 0, body: '' };
    const exchange = {
      remoteAddress: () => '203.0.113.9',
      send: (status: number, _fields: string, body: string) => Object.assign(sent, { status, body }),
    };
    const head = {
      query: `format=rss&token=${token.text}`,
      params: { id },
      contentLength: 0,
      lengthFault: null,
      formFault: null,
    };
    handler(head as unknown as RequestHead, exchange as unknown as Exchange);
    return sent;
  };
}

test('A feed has the newest changes whose records have 256 KiB together', () => {
  const { status, body } = reader()('wat_1');
  expect([status, body.match(/<item>/g)?.length]).toEqual([200, 16]);
  expect(body).toContain('New: Title 100');
});

test('A feed is read 60 times a minute by all together, and others stay readable', () => {
  const read = reader();
  const states = Array.from({ length: 61 }, () => read('wat_1').status);
  expect(states).toEqual([...Array<number>(60).fill(200), 429]);
  expect(read('wat_2').status).toBe(200);
});

test('The feed of a customer who is suspended is read like one that does not exist', () => {
  expect(reader({ isSuspended: true })('wat_1')).toMatchObject({ status: 401 });
});

test('An entry shows an amount as people write it, and links to the page where its record has no address', () => {
  const watch = {
    id: 'wat_1',
    name: null,
    extraction: { input: { url: 'https://shop.example/' } },
    createdAtMs: NOW_MS,
  };
  const price = (amount: number) => ({ price: { amount, currency: 'EUR' } });
  const change = {
    seq: 1,
    run: 2,
    atMs: NOW_MS,
    kind: 'changed' as const,
    keyJson: '{"id":"11"}',
    recordJson: JSON.stringify({ id: '11', title: 'Lamp', ...price(12.5) }),
    beforeJson: JSON.stringify(price(11)),
  };
  const feed = feedOf('atom', watch as unknown as Watch, [change]);
  expect(feed).toContain('<link href="https://shop.example/"/>');
  expect(feed).toContain('<content type="text">price now: 12.5 EUR\nprice before: 11 EUR</content>');
});
