import { describe, expect, onTestFinished, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { sharedServer } from '../../support/shared-server.ts';
import { decideTo, startReceiver, webhookClient } from '../../support/webhooks.ts';

describe('The filter of a webhook', () => {
  test('Only decisions for which it is true are stored and sent', async () => {
    const server = await sharedServer();
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const client = webhookClient(server.url, server.secretKey);
    const { id } = await client.create(receiver.url, 'REVIEW');
    const patch = (filter: string | null) =>
      bearer(server.url, server.secretKey, 'PATCH', `/v1/webhooks/${id}`, { filter });
    const decided = async (): Promise<unknown> =>
      (await decideTo(server.url, server.secretKey, 'REVIEW')).json['request_id'];

    expect((await patch('score < 1')).json).toMatchObject({ filter: 'score < 1', filter_error: null });
    await decided();
    // Unknown: the request has no address with a country.
    await patch('country == "DE"');
    await decided();
    await patch('decision == "REVIEW" && score > 1 && event_type != "" && size(reasons) > 0');
    const sent = [await decided()];
    expect((await patch(null)).json).toMatchObject({ filter: null });
    sent.unshift(await decided());
    await receiver.arrived(2);
    const rows = await client.deliveries(`?webhook_id=${id}`);
    expect(rows.map((row) => row.request_id)).toEqual(sent);
  });

  test('A filter that cannot be used is 422 with positions and the nearest name, and changes nothing', async () => {
    const server = await sharedServer();
    const body = { url: 'http://127.0.0.1:9/', event_types: ['BLOCK'] };
    const post = (filter: unknown) => bearer(server.url, server.secretKey, 'POST', '/v1/webhooks', { ...body, filter });
    expect((await post('score > 90 &&\n  evnt_type == "login"')).json).toMatchObject({
      status: 422,
      code: 'validation_failed',
      errors: [{ pointer: '/filter', code: 'unknown_fact', line: 2, column: 3, did_you_mean: 'event_type' }],
    });
    expect((await post('ip in list.partners')).json).toMatchObject({
      errors: [{ pointer: '/filter', code: 'type_error' }],
    });
    expect((await post('score >')).json).toMatchObject({ errors: [{ code: 'syntax_error' }] });
    expect((await post('x'.repeat(1_001))).json).toMatchObject({ errors: [{ pointer: '/filter', code: 'too_long' }] });
    const { json } = await bearer(server.url, server.secretKey, 'POST', '/v1/webhooks', { ...body, filter: null });
    const changed = await bearer(server.url, server.secretKey, 'PATCH', `/v1/webhooks/${String(json['id'])}`, {
      description: 'not this',
      filter: '!',
    });
    expect(changed.status).toBe(422);
    const found = await bearer(server.url, server.secretKey, 'GET', `/v1/webhooks/${String(json['id'])}`);
    expect(found.json).toMatchObject({ description: null, filter: null });
  });
});

test('A webhook with a format gets bodies of this format, also in a test, each webhook its own', async () => {
  const server = await sharedServer();
  const [plain, line] = [await startReceiver(), await startReceiver()];
  onTestFinished(async () => {
    await Promise.all([plain.close(), line.close()]);
  });
  const create = (url: string, more: object) =>
    bearer(server.url, server.secretKey, 'POST', '/v1/webhooks', { url, event_types: ['REVIEW'], ...more });
  await create(plain.url, { fields: 'full' });
  const { json } = await create(line.url, { format: 'cef' });
  expect(json).toMatchObject({ format: 'cef', fields: 'event' });
  const { json: decided } = await decideTo(server.url, server.secretKey, 'REVIEW');
  const [full] = await plain.arrived(1);
  expect(JSON.parse(String(full?.body))).toMatchObject({ request_id: decided['request_id'], event_type: 'checkout' });
  const [cef] = await line.arrived(1);
  expect(String(cef?.body)).toMatch(/^CEF:0\|Gatehouse\|Gatehouse\|1\|REVIEW\|.* externalId=req_/);
  expect(cef?.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect((await create(plain.url, { format: 'xml' })).json).toMatchObject({ errors: [{ pointer: '/format' }] });
});
