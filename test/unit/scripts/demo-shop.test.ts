import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type * as Shop from '../../../scripts/demo/shop.ts';

let shop: Shop.DemoShop;
beforeAll(async () => {
  // The built module finds the site beside the build.
  const { openShop } = (await import(
    new URL('../../../dist/scripts/demo/shop.js', import.meta.url).href
  )) as typeof Shop;
  const keys = { customer_id: 'cus_1', secret_key: 'sk_live_1', public_key: 'pk_live_1' };
  // Nothing listens on this port.
  const gatehouse = {
    url: 'http://127.0.0.1:9',
    dataDir: '',
    run: () => Promise.resolve(keys),
    stop: () => Promise.resolve(),
  };
  shop = await openShop(gatehouse, 0);
});
afterAll(() => shop.close());

describe('the shop of the demo, while Gatehouse does not answer', () => {
  test('A form lets the visitor go on, as JSON for the script and as a page without it', async () => {
    const form = { email: 'anna@example.com', password: 'x' };
    const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(form) };
    const shown = (await (await fetch(`${shop.url}/act/login`, asked)).json()) as Record<string, unknown>;
    expect(shown).toMatchObject({ isIn: true, failure: expect.stringContaining('does not answer') });
    expect(JSON.stringify(shown)).not.toContain('"password"');
    const page = await fetch(`${shop.url}/act/login`, { method: 'POST', body: new URLSearchParams(form) });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await page.text()).toContain('<h1>You are in</h1>');
  });

  test('A visitor keeps one session id of the shop', async () => {
    const first = await fetch(shop.url);
    const cookie =
      /^visit=[0-9a-f]{32}(?=; HttpOnly; SameSite=Lax)/.exec(first.headers.get('set-cookie') ?? '')?.[0] ?? '';
    expect(cookie).not.toBe('');
    expect((await fetch(shop.url, { headers: { cookie } })).headers.get('set-cookie')).toBeNull();
  });

  test.each([
    ['not JSON', 'application/json', '{'],
    ['too long', 'application/x-www-form-urlencoded', `email=${'a'.repeat(20_000)}`],
  ])('A form that is %s is refused', async (_what, type, body) => {
    const response = await fetch(`${shop.url}/act/login`, { method: 'POST', headers: { 'content-type': type }, body });
    expect(response.status).toBe(400);
  });
});
