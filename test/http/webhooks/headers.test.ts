import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { sharedServer } from '../../support/shared-server.ts';
import { decideTo, startReceiver } from '../../support/webhooks.ts';

const MASK = '****************';
const TOKEN = 'Bearer 5f1d-not-to-be-shown-9c3e';

async function subscribed() {
  const server = await sharedServer();
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const call = (method: string, path: string, body?: object) =>
    bearer(server.url, server.secretKey, method, `/v1/webhooks${path}`, body);
  const given = { url: receiver.url, event_types: ['REVIEW'], headers: { Authorization: TOKEN, 'X-Tenant': 't 1' } };
  const made = await call('POST', '', given);
  const id = String(made.json['id']);
  const decideOnce = () => decideTo(server.url, server.secretKey, 'REVIEW');
  return { server, receiver, call, made, id, decideOnce };
}

describe('Extra headers of a webhook', () => {
  test('They are sent with decisions and tests, and masked in every answer', async () => {
    const { receiver, call, made, id, decideOnce } = await subscribed();
    const masked = { authorization: MASK, 'x-tenant': MASK };
    expect(made.json).toMatchObject({ headers: masked });
    await decideOnce();
    const [first] = await receiver.arrived(1);
    expect(first?.headers).toMatchObject({ authorization: TOKEN, 'x-tenant': 't 1' });
    expect(first?.headers['webhook-signature']).toMatch(/^v1,/);
    expect((await call('GET', `/${id}`)).json).toMatchObject({ headers: masked });
    expect((await call('GET', '')).json).toMatchObject({ data: [{ headers: masked }] });
    expect((await call('PATCH', `/${id}`, { headers: { 'x-other': '1' } })).json).toMatchObject({
      headers: { 'x-other': MASK },
    });
    await call('POST', `/${id}/test`);
    const [, second] = await receiver.arrived(2);
    expect(second?.headers).toMatchObject({ 'x-other': '1' });
    expect(second?.headers).not.toHaveProperty('authorization');
    expect((await call('PATCH', `/${id}`, { headers: null })).json).toMatchObject({ headers: {} });
    await call('POST', `/${id}/test`);
    expect((await receiver.arrived(3))[2]?.headers).not.toHaveProperty('x-other');
  });

  test('Another host or port clears them, another path does not, and new ones may come with the URL', async () => {
    const { receiver, call, id } = await subscribed();
    const other = await startReceiver();
    onTestFinished(() => other.close());
    const kept = await call('PATCH', `/${id}`, { url: `${receiver.url}/moved` });
    expect(kept.json).toMatchObject({ headers: { authorization: MASK } });
    expect((await call('PATCH', `/${id}`, { url: other.url })).json).toMatchObject({ headers: {} });
    await call('POST', `/${id}/test`);
    expect((await other.arrived(1))[0]?.headers).not.toHaveProperty('authorization');
    const back = await call('PATCH', `/${id}`, { url: receiver.url, headers: { authorization: 'new' } });
    expect(back.json).toMatchObject({ headers: { authorization: MASK } });
    await call('POST', `/${id}/test`);
    expect((await receiver.arrived(1))[0]?.headers).toMatchObject({ authorization: 'new' });
  });

  test('Their values stand in no file, log line or audit entry', async () => {
    const { server, call, receiver, id, decideOnce } = await subscribed();
    await call('PATCH', `/${id}`, { headers: { Authorization: `${TOKEN}2` } });
    await decideOnce();
    await receiver.arrived(1);
    const audit = await bearer(server.url, server.secretKey, 'GET', '/v1/audit');
    expect(audit.text).toContain('"headers":["authorization"]');
    const files = readdirSync(server.dataDir, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    expect(files.length).toBeGreaterThan(0);
    const texts = files.map((one) => readFileSync(join(one.parentPath, one.name)).toString('latin1'));
    for (const text of [audit.text, server.stdout(), server.stderr(), ...texts]) expect(text).not.toContain(TOKEN);
  });

  test.each([
    [{ Host: 'a' }, '/headers/Host'],
    [{ 'content-type': 'a' }, '/headers/content-type'],
    [{ 'Transfer-Encoding': 'chunked' }, '/headers/Transfer-Encoding'],
    [{ connection: 'close' }, '/headers/connection'],
    [{ 'X-SVC-Webhook-Ts': '1' }, '/headers/X-SVC-Webhook-Ts'],
    [{ 'webhook-id': '1' }, '/headers/webhook-id'],
    [{ 'a b': '1' }, '/headers/a b'],
    [{ a: 'b\r\nc: d' }, '/headers/a'],
    [{ a: 'ü' }, '/headers/a'],
    [{ a: '' }, '/headers/a'],
    [{ a: ' b' }, '/headers/a'],
    [{ a: 'x'.repeat(1_025) }, '/headers/a'],
    [{ a: MASK }, '/headers/a'],
    [{ a: '1', A: '2' }, '/headers/A'],
    [Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`a${i}`, '1'])), '/headers'],
    [{ a: 1 }, '/headers/a'],
    ['a: b', '/headers'],
  ])('%j is 422', async (headers, pointer) => {
    const server = await sharedServer();
    const body = { url: 'http://127.0.0.1:9/', event_types: ['BLOCK'], headers };
    const { status, json } = await bearer(server.url, server.secretKey, 'POST', '/v1/webhooks', body);
    expect(status).toBe(422);
    expect(json).toMatchObject({ code: 'validation_failed', errors: [{ pointer }] });
  });
});
