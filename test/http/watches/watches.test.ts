import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { type Answer, newCustomer } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

let server: SharedServer;
let key: string;
beforeAll(async () => {
  server = await sharedServer();
  ({ secretKey: key } = await newCustomer(server.url, server.dataDir));
});

const ARTICLE = { connector: 'generic', operation: 'page.article', input: { url: 'https://shop.example/' } };
const body = (more: object = {}): object => ({ extraction: ARTICLE, cron: '0 6 1 1 *', key: ['url'], ...more });
const call = (method: string, path: string, given?: object): Promise<Answer> =>
  bearer(server.url, key, method, `/v1/watches${path}`, given);
const pointers = ({ json }: Answer): readonly string[] =>
  (json['errors'] as readonly { pointer: string; code: string }[]).map(({ pointer, code }) => `${pointer} ${code}`);

async function made(more: object = {}): Promise<string> {
  const { status, json, text } = await call('POST', '', body(more));
  if (status !== 201) throw new Error(text);
  return String(json['id']);
}

test('A watch is made, shown, changed, paused, resumed and deleted, and its token is shown once', async () => {
  const created = await call('POST', '', body({ name: 'Shop', emit: ['new'] }));
  expect(created.status).toBe(201);
  const { feed_token: token, ...watch } = created.json;
  expect(token).toMatch(/^wft_[A-Za-z0-9_-]{38}$/);
  expect(created.headers['location']).toBe(`/v1/watches/${String(watch['id'])}`);
  expect(watch).toMatchObject({
    name: 'Shop',
    every: null,
    cron: '0 6 1 1 *',
    compare: null,
    emit: ['new'],
    status: 'waiting',
  });
  const path = `/${String(watch['id'])}`;
  expect((await call('GET', path)).json).toEqual(watch);
  expect((await call('PATCH', path, { paused: true, name: null })).json).toMatchObject({
    status: 'paused',
    next_run_at: null,
    name: null,
  });
  expect((await call('PATCH', path, { every: '2h', paused: false })).json).toMatchObject({
    every: '2h',
    cron: null,
    paused: false,
  });
  const { json } = await call('GET', '?limit=1000');
  expect((json['data'] as readonly { id: string }[]).map(({ id }) => id)).toContain(watch['id']);
  expect((await call('GET', `${path}/changes`)).json).toEqual({
    data: [],
    has_more: false,
    next_cursor: expect.any(String),
  });
  expect((await call('DELETE', path)).status).toBe(204);
  expect((await call('GET', path)).status).toBe(404);
  expect((await call('DELETE', path)).status).toBe(404);
});

test('A run that is asked for is on its way until it ends, and a second one meanwhile is 409', async () => {
  const id = await made();
  const answers = await Promise.all([call('POST', `/${id}/run`), call('POST', `/${id}/run`)]);
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([202, 409]);
  expect(answers.find(({ status }) => status === 409)?.json['code']).toBe('not_ready');
  expect(answers.find(({ status }) => status === 202)?.json).toMatchObject({
    status: 'running',
    running: { run: 1, due_at: null },
  });
});

describe('what is refused with 422', () => {
  test.each([
    [{ cron: undefined }, ['/every required']],
    [{ every: '4m', cron: undefined }, ['/every invalid_value']],
    [{ every: '5m' }, ['/cron invalid_value']],
    [{ cron: '* * * * *' }, ['/cron invalid_value']],
    [{ key: [] }, ['/key too_few']],
    [{ key: ['id', 'id'] }, ['/key invalid_value']],
    [{ key: undefined }, ['/key required']],
    [{ compare: ['a..b'] }, ['/compare/0 invalid_value']],
    [{ emit: ['lost'] }, ['/emit/0 invalid_value']],
    [{ extraction: { ...ARTICLE, delivery: { type: 'store' } } }, ['/extraction/delivery invalid_value']],
    [{ extraction: { ...ARTICLE, output: { schema: {} } } }, ['/extraction/output/schema invalid_value']],
    [{ extraction: { ...ARTICLE, collect: { limit: 5_001 } } }, ['/extraction/collect/limit too_large']],
    [{ extraction: { ...ARTICLE, connector: 'none' } }, ['/extraction/connector unknown_connector']],
    [{ extraction: { ...ARTICLE, input: { url: 'http://10.0.0.1/' } } }, ['/extraction/input/url blocked_url']],
  ])('%j', async (more, expected) => {
    const answer = await call('POST', '', body(more));
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(expected);
  });

  test('An extraction of over 64 KiB', async () => {
    const extraction = { ...ARTICLE, input: { url: `https://shop.example/${'x'.repeat(66_000)}` } };
    expect(pointers(await call('POST', '', body({ extraction })))).toEqual(['/extraction too_large']);
  });

  test('A change is checked like a new watch', async () => {
    const id = await made();
    expect(pointers(await call('PATCH', `/${id}`, { every: '1s' }))).toEqual(['/every invalid_value']);
    const extraction = { ...ARTICLE, operation: 'none' };
    expect((await call('PATCH', `/${id}`, { extraction })).json['code']).toBe('unknown_operation');
  });
});

test('A feed token reads its own watch only, and no other text does', async () => {
  const [first, second] = await Promise.all([call('POST', '', body()), call('POST', '', body())]);
  const feed = (id: unknown, token: string, format = 'atom') =>
    fetch(`${server.url}/v1/watches/${String(id)}/changes?format=${format}&token=${encodeURIComponent(token)}`);
  const token = String(first.json['feed_token']);
  const ask = async (id: unknown, given: string, format?: string) => (await feed(id, given, format)).status;
  expect(await ask(first.json['id'], token)).toBe(200);
  expect(await ask(second.json['id'], token)).toBe(401);
  expect(await ask(first.json['id'], `${token.slice(0, -1)}_`)).toBe(401);
  expect(await ask(first.json['id'], '')).toBe(401);
  expect(await ask(first.json['id'], key)).toBe(401);
  expect(await ask(first.json['id'], token, 'json')).toBe(400);
});

test('The changes of a watch have a cursor of their own, and formats that are named', async () => {
  const [id, other] = [await made(), await made()];
  const { json } = await call('GET', `/${id}/changes`);
  expect((await call('GET', `/${other}/changes?cursor=${String(json['next_cursor'])}`)).status).toBe(400);
  expect((await call('GET', `/${id}/changes?cursor=${String(json['next_cursor'])}`)).status).toBe(200);
  expect((await call('GET', `/${id}/changes?format=xml`)).status).toBe(400);
  const lines = await call('GET', `/${id}/changes?format=ndjson`);
  expect([lines.status, lines.text, lines.headers['x-next-cursor']]).toEqual([200, '', expect.any(String)]);
  expect((await call('GET', `/${id}/changes?format=rss`)).text).toContain('<rss version="2.0">');
});
