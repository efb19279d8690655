import { describe, expect, onTestFinished, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { TRANSPORTS } from '../../support/requests.ts';
import { sharedServer } from '../../support/shared-server.ts';
import { decideTo, NOBODYS_WEBHOOK, startReceiver, webhookClient } from '../../support/webhooks.ts';

describe('PATCH /v1/webhooks/{id}', () => {
  test.each(TRANSPORTS)(
    'PATCH pauses a webhook, moves it and resumes it with its secret, over %s',
    async (transport) => {
      const server = await sharedServer(transport);
      const [first, second] = [await startReceiver(), await startReceiver()];
      onTestFinished(async () => void (await Promise.all([first.close(), second.close()])));
      const client = webhookClient(server.url, server.secretKey);
      const { id, secret } = await client.create(first.url, 'REVIEW');
      const patch = (body: unknown) => bearer(server.url, server.secretKey, 'PATCH', `/v1/webhooks/${id}`, body);
      const decided = async (): Promise<unknown> =>
        (await decideTo(server.url, server.secretKey, 'REVIEW')).json['request_id'];
      const one = await decided();
      await first.arrived(1);
      await client.ended(`?request_id=${String(one)}`);

      const paused = await patch({ disabled: true });
      expect(paused).toMatchObject({ status: 200, json: { id, disabled: true, status: 'healthy', url: first.url } });
      expect(paused.json['secret']).toBe(`whsec_****************${secret.slice(-4)}`);
      await decided();
      const tested = await bearer(server.url, server.secretKey, 'POST', `/v1/webhooks/${id}/test`);
      expect(tested.json).toMatchObject({ status: 409, code: 'not_ready' });

      const moved = await patch({ disabled: false, url: second.url, description: 'moved' });
      expect(moved.json).toMatchObject({
        disabled: false,
        url: second.url,
        description: 'moved',
        event_types: ['REVIEW'],
      });
      expect(await client.ask('GET', `/v1/webhooks/${id}`)).toEqual(moved.json);
      const three = await decided();
      const [arrival] = await second.arrived(1);
      expect(JSON.parse(String(arrival?.body))).toMatchObject({ request_id: three });
      expect(first.arrivals.map(({ body }) => (JSON.parse(String(body)) as { request_id: string }).request_id)).toEqual(
        [one],
      );
      // Decisions made meanwhile did not even create a row.
      const rows = await client.deliveries(`?webhook_id=${id}`);
      expect(rows.map((row) => row.request_id)).toEqual([three, one]);
    },
  );

  test('PATCH is 404 for an unknown webhook and for one of another customer', async () => {
    const server = await sharedServer();
    const other = await sharedServer();
    const { id } = await webhookClient(other.url, other.secretKey).create('http://127.0.0.1:9/', 'BLOCK');
    for (const path of [NOBODYS_WEBHOOK, id]) {
      const answer = await bearer(server.url, server.secretKey, 'PATCH', `/v1/webhooks/${path}`, { disabled: true });
      expect(answer.json).toMatchObject({ status: 404, code: 'not_found' });
    }
  });
});
