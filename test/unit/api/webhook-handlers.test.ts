import { expect, test } from 'vitest';
import { deliveryHandlers } from '../../../src/api/delivery-handlers.ts';
import type { EndpointFactory } from '../../../src/api/kit/endpoint-factory.ts';
import type { EndpointHandler, EndpointRequest, EndpointResponse } from '../../../src/api/kit/endpoint-types.ts';
import { Cursors } from '../../../src/api/kit/paging.ts';
import { webhookHandlers } from '../../../src/api/webhook-handlers.ts';
import { newId } from '../../../src/kernel/ids.ts';

/** What is hard to bring about over HTTP: bounds of concurrent work, and a secret that cannot be read. test/http has the rest. */

const WEBHOOK = { id: newId('wh', 1), health: {}, createdAtMs: 1_000, updatedAtMs: 1_000 };
const busy = (): Promise<{ kind: 'busy' }> => Promise.resolve({ kind: 'busy' });
const unwrapped = ((_options: object, handler: EndpointHandler) => handler) as unknown as EndpointFactory;
const REQUEST = {
  contentLength: 0,
  caller: { customer: 1 },
  query: new URLSearchParams(),
  waiting: { whileOut: (work: () => unknown) => work() },
};

function setUp() {
  const cursors = new Cursors(Buffer.alloc(32));
  const webhooks = webhookHandlers(unwrapped, {
    webhooks: { find: () => WEBHOOK, secretsOf: () => null } as never,
    control: { test: busy } as never,
    cursors,
    checkTarget: () => null,
  });
  const deliveries = deliveryHandlers(unwrapped, {
    deliveries: { settled: () => Promise.resolve(), page: busy } as never,
    control: { retry: busy },
    cursors,
  });
  return { ...webhooks, ...deliveries } as unknown as Readonly<Record<string, EndpointHandler>>;
}

async function ask(endpoint: string, id: string): Promise<EndpointResponse | undefined> {
  return setUp()[endpoint]?.({ ...REQUEST, params: { id } } as unknown as EndpointRequest);
}

test.each([
  ['listDeliveries', 'delivery_pages', ''],
  ['retryDelivery', 'deliveries', newId('dlv', 1)],
  ['testWebhook', 'deliveries', WEBHOOK.id],
])('%s is 429 overloaded with the reason %s while too many run', async (endpoint, reason, id) => {
  const problem = { status: 429, code: 'overloaded', reason };
  expect(await ask(endpoint, id)).toMatchObject({ kind: 'problem', problem });
});

test('A webhook whose secret cannot be read is shown with the mask alone', async () => {
  const shown = await ask('findWebhook', WEBHOOK.id);
  expect(shown).toMatchObject({ status: 200, body: { id: WEBHOOK.id, secret: 'whsec_****************' } });
});
