import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import type { Answer } from '../../support/requests.ts';
import { startServer, type RunningServer } from '../../support/server.ts';
import { NOBODYS_WEBHOOK } from '../../support/webhooks.ts';

describe('webhooks answer 422', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer({ env: { GATEHOUSE_EGRESS_ALLOW: '10.1.0.0/16' } });
  });
  afterAll(() => server.stop());

  const GOOD = { url: 'https://shop.example/events', event_types: ['BLOCK'] };
  const post = (changes: object): Promise<Answer> =>
    bearer(server.url, server.secretKey, 'POST', '/v1/webhooks', { ...GOOD, ...changes });

  test.each([
    ['no url', { url: null }, '/url', 'required'],
    ['a relative url', { url: '/events' }, '/url', 'invalid_value'],
    ['another scheme', { url: 'ftp://shop.example/' }, '/url', 'invalid_value'],
    ['user info', { url: 'https://user:pass@shop.example/' }, '/url', 'invalid_value'],
    ['a fragment', { url: 'https://shop.example/#a' }, '/url', 'invalid_value'],
    ['a url of 2,049 characters', { url: `https://shop.example/${'x'.repeat(2_028)}` }, '/url', 'too_long'],
    ['no event type', { event_types: [] }, '/event_types', 'too_few'],
    ['an unknown event type', { event_types: ['DENY'] }, '/event_types/0', 'invalid_value'],
    ['six event types', { event_types: Array(6).fill('x') }, '/event_types', 'too_many'],
    ['an event type twice', { event_types: ['BLOCK', 'BLOCK'] }, '/event_types/1', 'invalid_value'],
    ['a description of 501 characters', { description: 'x'.repeat(501) }, '/description', 'too_long'],
  ])('a webhook with %s is 422', async (_name, changes, pointer, code) => {
    const answer = await post(changes);
    expect(answer.json).toMatchObject({ status: 422, code: 'validation_failed', errors: [{ pointer, code }] });
    expect((await bearer(server.url, server.secretKey, 'GET', '/v1/webhooks')).json['data']).toEqual([]);
  });

  test.each([
    'http://127.0.0.1/',
    'http://localhost:8080/',
    'http://10.0.0.1/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'http://[fd00::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://0x7f000001/',
    'http://2130706433/',
    'http://0/',
  ])('a webhook at the blocked address %s is 422', async (url) => {
    const answer = await post({ url });
    expect(answer.json).toMatchObject({ status: 422, code: 'blocked_url', errors: [{ pointer: '/url' }] });
    expect((await bearer(server.url, server.secretKey, 'GET', '/v1/webhooks')).json['data']).toEqual([]);
  });

  test('a webhook at an address that the operator allows is accepted, and others are not', async () => {
    expect((await post({ url: 'http://10.1.2.3/' })).status).toBe(201);
    for (const url of ['http://10.2.0.1/', 'http://127.0.0.1/'])
      expect((await post({ url })).json['code']).toBe('blocked_url');
  });

  test('a grace period that is too long is 422', async () => {
    const path = `/v1/webhooks/${NOBODYS_WEBHOOK}/rotate`;
    const answer = await bearer(server.url, server.secretKey, 'POST', path, { grace_seconds: 604_801 });
    expect(answer.json).toMatchObject({ status: 422, errors: [{ pointer: '/grace_seconds', code: 'too_large' }] });
  });
});
