import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { NOBODYS_SESSION } from '../../support/extractions.ts';
import { bearer } from '../../support/manage.ts';
import { newCustomer } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const SECRET = 'a-cookie-that-nobody-else-may-see';
const GOOD = { host: 'shop.example', cookies: [{ name: 'sid', value: SECRET }] };

describe('sessions', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });
  const ask = (method: string, path: string, body?: unknown, key = server.secretKey) =>
    bearer(server.url, key, method, path, body);

  test('sessions are created, shown, listed and deleted, and never return their content', async () => {
    const made = await ask('POST', '/v1/sessions', GOOD);
    expect(made.status).toBe(201);
    expect(Object.keys(made.json)).toEqual(['id', 'host', 'created_at', 'expires_at']);
    const path = `/v1/sessions/${String(made.json['id'])}`;
    expect(made.headers['location']).toBe(path);
    expect((await ask('GET', path)).json).toEqual(made.json);
    expect((await ask('GET', '/v1/sessions')).json).toMatchObject({ data: [made.json], has_more: false });
    expect((await ask('DELETE', path)).status).toBe(204);
    expect((await ask('GET', path)).json).toMatchObject({ status: 404, code: 'not_found' });
    expect((await ask('DELETE', path)).status).toBe(404);
  });

  test('sessions are encrypted at rest and do not appear in any log', async () => {
    await ask('POST', '/v1/sessions', GOOD);
    await ask('POST', '/v1/sessions', { ...GOOD, host: 'wrong/host' });
    for (const name of readdirSync(server.dataDir, { recursive: true, encoding: 'utf8' })) {
      let bytes = Buffer.alloc(0);
      try {
        bytes = readFileSync(join(server.dataDir, name));
      } catch {
        continue;
      }
      expect([name, bytes.includes(SECRET)]).toEqual([name, false]);
    }
    expect(server.stdout() + server.stderr()).not.toContain(SECRET);
  });

  test('sessions are visible only to their customer', async () => {
    const { json } = await ask('POST', '/v1/sessions', GOOD);
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    for (const method of ['GET', 'DELETE'])
      for (const id of [String(json['id']), NOBODYS_SESSION])
        expect((await ask(method, `/v1/sessions/${id}`, undefined, secretKey)).json['code']).toBe('not_found');
    expect((await ask('GET', '/v1/sessions', undefined, secretKey)).json['data']).toEqual([]);
    expect((await ask('GET', `/v1/sessions/${String(json['id'])}`)).status).toBe(200);
  });

  test.each([
    [{ host: 'shop.example:443' }, 'validation_failed', '/host'],
    [{ host: 'co.uk' }, 'validation_failed', '/host'],
    [{ host: '10.0.0.1' }, 'blocked_url', '/host'],
    [{ cookies: [] }, 'validation_failed', '/cookies'],
    [{ cookies: [{ name: 'a', value: 'b', domain: 'else.example' }] }, 'validation_failed', '/cookies/0/domain'],
    [{ headers: { Host: 'else.example' } }, 'validation_failed', '/headers/Host'],
    [{ expires_at: 1 }, 'validation_failed', '/expires_at'],
  ])('a session with %j is 422', async (changes, code, pointer) => {
    const { json } = await ask('POST', '/v1/sessions', { ...GOOD, ...changes });
    expect(json).toMatchObject({ status: 422, code, errors: [{ pointer }] });
  });
});
