import { afterAll, beforeAll, expect, test } from 'vitest';
import { bearer } from '../support/manage.ts';
import { newCustomer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { stranger, visit } from '../support/visits.ts';

/** A backend that sends the address of its proxy, observed from outside. */

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ env: { GATEHOUSE_WORKERS: '1' } });
});
afterAll(() => server.stop());

async function decisions(count: number, key: string, ipOf: (n: number) => string): Promise<void> {
  for (let n = 0; n < count; n += 20)
    await Promise.all(Array.from({ length: 20 }, (_, at) => visit(server.url, key, stranger(ipOf(n + at)))));
}

async function shown(key: string): Promise<readonly [unknown, unknown]> {
  const { json } = await bearer(server.url, key, 'GET', '/v1/stats?step=60');
  const ready = (await (await fetch(`${server.url}/readyz`)).json()) as {
    readonly layers: { readonly addresses: { readonly state: string; readonly detail: string } };
  };
  expect(ready.layers.addresses.state).toBe('ok');
  return [json['address_warning'], ready.layers.addresses.detail];
}

test('A customer whose decisions carry the address of its proxy gets a warning, and others do not', async () => {
  const [proxied, honest] = [
    await newCustomer(server.url, server.dataDir),
    await newCustomer(server.url, server.dataDir),
  ];
  await decisions(180, proxied.secretKey, () => '10.0.0.7');
  expect(await shown(proxied.secretKey)).toEqual([undefined, '']);
  await decisions(40, proxied.secretKey, () => '10.0.0.7');
  await decisions(220, honest.secretKey, (n) => `81.2.${n}.1`);
  expect(await shown(proxied.secretKey)).toEqual([
    'no_public_address',
    "1 customer sends over 80 % of an hour's decisions with one address, or with no public one",
  ]);
  expect((await shown(honest.secretKey))[0]).toBeUndefined();
});
