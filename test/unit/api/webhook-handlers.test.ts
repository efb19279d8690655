import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/kernel/ids.ts';
import { PUBLIC_KEY } from '../decide/support.ts';
import { NEXT_SECRET, NOW_MS, OTHER_KEY, SECRET, setUp, webhook } from './webhook-support.ts';

/** The key of the caller, by its first 12 characters. */
const BY = expect.stringMatching(/^key:sk_\w{9}$/);

const GOOD = { url: 'https://shop.example/events', event_types: ['REVIEW', 'BLOCK'] };
const NOBODYS = newId('wh', NOW_MS);
const FAULT = { kind: 'fault', code: 'store_write_failed', detail: 'MDB_PROBLEM inside' } as const;

describe('creating a webhook', () => {
  test('Creating a webhook passes the given fields to the sender, and shows the complete secret and the location', async () => {
    const { ask, calls } = setUp();
    const made = await ask('POST', '/v1/webhooks', { ...GOOD, description: 'to the desk', secret: 'of my own' });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ ...GOOD, description: 'to the desk', secret: SECRET });
    expect(made.fields).toContain('\r\nCache-Control: no-store');
    expect(made.fields).toContain(`\r\nLocation: /v1/webhooks/${String(made.json['id'])}`);
    const { url, event_types: eventTypes } = GOOD;
    expect(calls).toEqual([['create', { customer: 7, url, eventTypes, description: 'to the desk' }]]);
  });

  test('Creating a webhook keeps the url as written', async () => {
    const { ask, calls } = setUp();
    const urls = [
      'http://127.0.0.1:8080',
      'HTTPS://Shop.Example/Events?to=desk&at=10%20am',
      'https://shop.example?x',
      'https://[2606:4700:4700::1111]:8443/a@b',
      'https://bücher.example/ä',
      `https://shop.example/${'x'.repeat(2_048 - 21)}`,
    ];
    for (const url of urls) expect((await ask('POST', '/v1/webhooks', { ...GOOD, url })).json['url']).toBe(url);
    expect(calls).toHaveLength(urls.length);
  });

  test.each([
    ['no url', { url: undefined }, '/url', 'required'],
    ['null as url', { url: null }, '/url', 'required'],
    ['a number as url', { url: 7 }, '/url', 'wrong_type'],
    ['an empty url', { url: '' }, '/url', 'invalid_value'],
    ['a relative url', { url: '/events' }, '/url', 'invalid_value'],
    ['a url without a scheme', { url: 'shop.example/events' }, '/url', 'invalid_value'],
    ['a url without a host', { url: 'https://' }, '/url', 'invalid_value'],
    ['a url without slashes', { url: 'https:shop.example' }, '/url', 'invalid_value'],
    ['a url with one slash', { url: 'https:/shop.example' }, '/url', 'invalid_value'],
    ['a url with three slashes', { url: 'https:///shop.example' }, '/url', 'invalid_value'],
    ['backslashes', { url: String.raw`https:\\shop.example` }, '/url', 'invalid_value'],
    ['a backslash behind the host', { url: String.raw`https://shop.example\@inside.example` }, '/url', 'invalid_value'],
    ['another scheme', { url: 'ftp://shop.example/' }, '/url', 'invalid_value'],
    ['a file', { url: 'file:///etc/passwd' }, '/url', 'invalid_value'],
    ['a user', { url: 'https://user@shop.example/' }, '/url', 'invalid_value'],
    ['a user and a password', { url: 'https://user:pass@shop.example/' }, '/url', 'invalid_value'],
    ['an empty user', { url: 'https://@shop.example/' }, '/url', 'invalid_value'],
    ['a fragment', { url: 'https://shop.example/#events' }, '/url', 'invalid_value'],
    ['an empty fragment', { url: 'https://shop.example/#' }, '/url', 'invalid_value'],
    ['an invalid port', { url: 'https://shop.example:70000/' }, '/url', 'invalid_value'],
    ['a broken host', { url: 'https://[::1/' }, '/url', 'invalid_value'],
    ['a leading space', { url: ' https://shop.example/' }, '/url', 'invalid_value'],
    ['a line feed inside', { url: 'https://shop.ex\nample/' }, '/url', 'invalid_value'],
    ['a trailing line feed', { url: 'https://shop.example/\n' }, '/url', 'invalid_value'],
    ['a url of 2,049 characters', { url: `https://shop.example/${'x'.repeat(2_028)}` }, '/url', 'too_long'],
    ['no event types', { event_types: undefined }, '/event_types', 'required'],
    ['an empty list of event types', { event_types: [] }, '/event_types', 'too_few'],
    ['a string instead of event types', { event_types: 'BLOCK' }, '/event_types', 'wrong_type'],
    ['an unknown event type', { event_types: ['BLOCK', 'DENY'] }, '/event_types/1', 'invalid_value'],
    ['an event type in lower case', { event_types: ['block'] }, '/event_types/0', 'invalid_value'],
    ['an event type twice', { event_types: ['BLOCK', 'ALLOW', 'BLOCK'] }, '/event_types/2', 'invalid_value'],
    ['null among the event types', { event_types: [null] }, '/event_types/0', 'required'],
    ['six event types', { event_types: Array(6).fill('BLOCK') }, '/event_types', 'too_many'],
    ['a description that is not a string', { description: 7 }, '/description', 'wrong_type'],
    ['a description of 501 characters', { description: 'x'.repeat(501) }, '/description', 'too_long'],
  ])('Creating a webhook with %s is refused and changes nothing', async (_name, changes, pointer, code) => {
    const { ask, calls } = setUp();
    const refused = await ask('POST', '/v1/webhooks', { ...GOOD, ...changes });
    expect(refused.json).toMatchObject({ status: 422, code: 'validation_failed', errors: [{ pointer, code }] });
    expect(refused.json['errors']).toHaveLength(1);
    expect(calls).toEqual([]);
  });

  test('Creating a webhook names all errors at once', async () => {
    const { ask } = setUp();
    const { json } = await ask('POST', '/v1/webhooks', { url: 'x', event_types: ['y'], description: 1 });
    const pointers = (json['errors'] as { pointer: string }[]).map(({ pointer }) => pointer);
    expect(pointers).toEqual(['/url', '/event_types/0', '/description']);
  });

  test('Creating a webhook checks at most five event types, however many are given', async () => {
    const { ask } = setUp();
    const { json } = await ask('POST', '/v1/webhooks', { ...GOOD, event_types: Array(200_000).fill('x') });
    expect(json['errors']).toMatchObject([{ pointer: '/event_types', code: 'too_many' }]);
  });

  test.each([
    'http://10.1.2.3/',
    'http://[::1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://0x0a010203/',
    'http://[::ffff:10.1.2.3]/',
  ])('Creating a webhook for %s, which may not be reached, is refused and changes nothing', async (url) => {
    const { ask, calls } = setUp();
    const refused = await ask('POST', '/v1/webhooks', { ...GOOD, url });
    expect(refused.json).toMatchObject({
      status: 422,
      code: 'blocked_url',
      errors: [{ pointer: '/url', code: 'blocked_url' }],
    });
    expect(calls).toEqual([]);
  });

  test('Creating a webhook reports errors of other fields before a blocked target', async () => {
    const { ask } = setUp();
    const { json } = await ask('POST', '/v1/webhooks', { url: 'http://10.1.2.3/', event_types: [] });
    expect(json).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/event_types', code: 'too_few' }] });
  });

  test('Creating a webhook gives 409 at the maximum number', async () => {
    const { ask, control } = setUp();
    control.create = () => Promise.resolve({ kind: 'limit_reached' });
    expect((await ask('POST', '/v1/webhooks', GOOD)).json).toMatchObject({ status: 409, code: 'limit_reached' });
  });

  test('Creating a webhook gives 500 without internal text when a store write fails', async () => {
    const { ask, control } = setUp();
    control.create = () => Promise.resolve(FAULT);
    const failed = await ask('POST', '/v1/webhooks', GOOD);
    expect(failed.json).toMatchObject({ status: 500, code: 'internal_error' });
    expect(JSON.stringify(failed.json)).not.toContain('MDB');
  });
});

describe('reading webhooks', () => {
  test('Webhooks are listed page by page, with masked secrets', async () => {
    const { ask, webhooks } = setUp();
    webhooks.push(...Array.from({ length: 5 }, (_, n) => webhook({ createdAtMs: NOW_MS - n * 1_000 })));
    const seen: unknown[] = [];
    let cursor: string | null = null;
    do {
      const page = await ask('GET', `/v1/webhooks?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`);
      const rows = page.json['data'] as Record<string, unknown>[];
      seen.push(...rows.map(({ id }) => id));
      for (const { secret } of rows) expect(secret).toBe(`whsec_****************${SECRET.slice(-4)}`);
      cursor = page.json['next_cursor'] as string | null;
      expect(page.json['has_more']).toBe(cursor !== null);
    } while (cursor !== null);
    expect(seen).toEqual(webhooks.map(({ id }) => id));
  });

  test('A webhook is found by its id, and its secret is fully masked if it cannot be read', async () => {
    const { ask, webhooks, state } = setUp();
    const own = webhook();
    webhooks.push(own);
    expect((await ask('GET', `/v1/webhooks/${own.id}`)).json).toMatchObject({ id: own.id, url: own.url });
    state.secrets = false;
    const unreadable = await ask('GET', `/v1/webhooks/${own.id}`);
    expect([unreadable.status, unreadable.json['secret']]).toEqual([200, 'whsec_****************']);
  });

  test.each(['limit=0', 'limit=1001', 'limit=x', 'cursor=broken'])(
    'The list of webhooks refuses ?%s',
    async (query) => {
      const { ask } = setUp();
      expect((await ask('GET', `/v1/webhooks?${query}`)).json).toMatchObject({ status: 400, code: 'invalid_request' });
    },
  );

  test('The list of webhooks refuses a cursor of the deliveries', async () => {
    const { ask, webhooks } = setUp();
    webhooks.push(webhook(), webhook());
    const page = await ask('GET', '/v1/webhooks?limit=1');
    const target = `?limit=1&cursor=${String(page.json['next_cursor'])}`;
    expect((await ask('GET', `/v1/webhooks${target}`)).status).toBe(200);
    expect((await ask('GET', `/v1/webhooks/deliveries${target}`)).status).toBe(400);
  });
});

describe('changing a webhook', () => {
  test('Removing a webhook gives 204 without a body', async () => {
    const { ask, calls } = setUp();
    expect(await ask('DELETE', `/v1/webhooks/${NOBODYS}`)).toMatchObject({ status: 204, json: {} });
    expect(calls).toEqual([['remove', 7, NOBODYS, BY]]);
  });

  test('Rotating a webhook’s secret shows the new secret completely, once', async () => {
    const { ask } = setUp();
    const rotated = await ask('POST', `/v1/webhooks/${NOBODYS}/rotate`, { grace_seconds: 60 });
    expect([rotated.status, rotated.json['secret'], rotated.json['id']]).toEqual([200, NEXT_SECRET, NOBODYS]);
    expect(rotated.fields).toContain('\r\nCache-Control: no-store');
  });

  test.each([
    [undefined, 86_400],
    [{}, 86_400],
    [{ grace_seconds: null }, 86_400],
    [{ grace_seconds: 0 }, 0],
    [{ grace_seconds: 604_800 }, 604_800],
  ])('Rotating with %j keeps the old secret for %i s', async (body, graceSeconds) => {
    const { ask, calls } = setUp();
    expect((await ask('POST', `/v1/webhooks/${NOBODYS}/rotate`, body)).status).toBe(200);
    expect(calls).toEqual([['rotate', 7, NOBODYS, graceSeconds, BY]]);
  });

  test.each([
    [-1, 'too_small'],
    [604_801, 'too_large'],
    [1.5, 'wrong_type'],
    ['60', 'wrong_type'],
  ])('Rotating with a grace of %j s is refused', async (grace, code) => {
    const { ask, calls } = setUp();
    const refused = await ask('POST', `/v1/webhooks/${NOBODYS}/rotate`, { grace_seconds: grace });
    expect(refused.json).toMatchObject({ status: 422, errors: [{ pointer: '/grace_seconds', code }] });
    expect(calls).toEqual([]);
  });

  test.each([
    [{ disabled: true }, { disabled: true }],
    [{ url: 'https://other.example/x' }, { url: 'https://other.example/x' }],
    [{ event_types: ['ALLOW', 'BLOCK'] }, { eventTypes: ['ALLOW', 'BLOCK'] }],
    [{ description: 'new' }, { description: 'new' }],
    [{ description: null }, { description: null }],
    [{ secret: 'mine', id: 'wh_x' }, {}],
  ])('Changing a webhook by %j changes only that and shows no secret', async (body, change) => {
    const { ask, calls } = setUp();
    const changed = await ask('PATCH', `/v1/webhooks/${NOBODYS}`, body);
    expect(changed).toMatchObject({
      status: 200,
      json: { id: NOBODYS, secret: `whsec_${'*'.repeat(16)}${SECRET.slice(-4)}` },
    });
    expect(calls).toEqual([['change', 7, NOBODYS, change, BY]]);
  });

  test.each([
    [{ url: null }, '/url', 'required'],
    [{ url: 'ftp://shop.example/' }, '/url', 'invalid_value'],
    [{ url: 'http://10.0.0.1/' }, '/url', 'blocked_url'],
    [{ event_types: [] }, '/event_types', 'too_few'],
    [{ event_types: ['BLOCK', 'BLOCK'] }, '/event_types/1', 'invalid_value'],
    [{ disabled: 'yes' }, '/disabled', 'wrong_type'],
    [{ disabled: null }, '/disabled', 'required'],
    [{ description: 'x'.repeat(501) }, '/description', 'too_long'],
  ])('Changing a webhook by %j is refused', async (body, pointer, code) => {
    const { ask, calls } = setUp();
    const refused = await ask('PATCH', `/v1/webhooks/${NOBODYS}`, body);
    expect(refused.json).toMatchObject({ status: 422, errors: [{ pointer, code }] });
    expect(calls).toEqual([]);
  });

  test('Testing a disabled webhook gives 409', async () => {
    const { ask, control } = setUp();
    control.test = () => Promise.resolve({ kind: 'disabled' });
    expect((await ask('POST', `/v1/webhooks/${NOBODYS}/test`)).json).toMatchObject({ status: 409, code: 'not_ready' });
  });

  test('Testing a webhook shows the delivery, with and without a body', async () => {
    const { ask, calls } = setUp();
    for (const body of [undefined, {}]) {
      const tested = await ask('POST', `/v1/webhooks/${NOBODYS}/test`, body);
      expect(tested).toMatchObject({ status: 200, json: { webhook_id: NOBODYS, trigger: 'test' } });
    }
    expect(calls).toEqual([
      ['test', 7, NOBODYS],
      ['test', 7, NOBODYS],
    ]);
  });

  test('Testing a webhook gives 429 when too many tests are in flight', async () => {
    const { ask, control } = setUp();
    control.test = () => Promise.resolve({ kind: 'busy' });
    const busy = await ask('POST', `/v1/webhooks/${NOBODYS}/test`);
    expect(busy.json).toMatchObject({ status: 429, code: 'overloaded', retry_after: 1 });
  });

  test('A failed store write gives 500 on each endpoint of webhooks', async () => {
    const { ask, control } = setUp();
    control.remove = () => Promise.resolve(FAULT);
    control.change = () => Promise.resolve(FAULT);
    control.rotate = () => Promise.resolve(FAULT);
    control.test = () => Promise.resolve(FAULT);
    const answers = [
      await ask('DELETE', `/v1/webhooks/${NOBODYS}`),
      await ask('PATCH', `/v1/webhooks/${NOBODYS}`, {}),
      await ask('POST', `/v1/webhooks/${NOBODYS}/rotate`),
      await ask('POST', `/v1/webhooks/${NOBODYS}/test`),
    ];
    expect(answers.map(({ json }) => json['code'])).toEqual(Array(4).fill('internal_error'));
  });
});

describe('ownership of webhooks', () => {
  const CALLS = [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['POST', '/rotate'],
  ] as const;

  test.each(CALLS)('%s …%s uses the caller’s own customer', async (method, rest) => {
    const { ask, calls, webhooks } = setUp();
    const own = webhook();
    webhooks.push(own);
    const answer = await ask(method, `/v1/webhooks/${own.id}${rest}`, method === 'PATCH' ? {} : undefined, OTHER_KEY);
    if (method === 'GET') expect(answer.json).toMatchObject({ status: 404, code: 'not_found' });
    else expect(calls.map(([, customer]) => customer)).toEqual([8]);
  });

  test('An unknown webhook gives 404 on each endpoint', async () => {
    const { ask, control } = setUp();
    const none = (): Promise<{ kind: 'not_found' }> => Promise.resolve({ kind: 'not_found' });
    Object.assign(control, { change: none, remove: none, rotate: none, test: none });
    for (const [method, rest] of CALLS) {
      const answer = await ask(method, `/v1/webhooks/${NOBODYS}${rest}`, method === 'PATCH' ? {} : undefined);
      expect(answer.json).toMatchObject({ status: 404, code: 'not_found' });
    }
  });

  test('An id of another form gives 404 without a look-up', async () => {
    const { ask, calls } = setUp();
    for (const id of ['x', 'wh_', `dlv_${NOBODYS.slice(3)}`, 'x'.repeat(3_000), `${NOBODYS}%0A`]) {
      for (const [method, rest] of CALLS) {
        expect(
          (await ask(method, `/v1/webhooks/${id}${rest}`, method === 'PATCH' ? {} : undefined)).json,
        ).toMatchObject({ status: 404, code: 'not_found' });
      }
    }
    expect(calls).toEqual([]);
  });

  test('A public key gives 403 on each endpoint of webhooks', async () => {
    const { ask, calls } = setUp();
    const answers = [await ask('POST', '/v1/webhooks', GOOD, PUBLIC_KEY)];
    for (const [method, rest] of CALLS) {
      answers.push(await ask(method, `/v1/webhooks/${NOBODYS}${rest}`, undefined, PUBLIC_KEY));
    }
    expect(answers.map(({ json }) => json['code'])).toEqual(Array(1 + CALLS.length).fill('key_not_allowed'));
    expect(calls).toEqual([]);
  });
});
