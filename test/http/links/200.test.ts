import { beforeAll, describe, expect, test } from 'vitest';
import { call } from '../../support/manage.ts';
import { CALM, decide } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

type Json = Record<string, unknown>;

describe('links of decisions', () => {
  let server: SharedServer;
  const ids: string[] = [];
  const get = (path: string, key = server.secretKey): Promise<{ status: number; json: Json }> =>
    call(server.url, key, 'GET', path);
  const rowsOf = async (query: string): Promise<Json[]> => (await get(`/v1/decisions?${query}`)).json['data'] as Json[];
  const idsOf = async (query: string): Promise<unknown[]> => (await rowsOf(query)).map((row) => row['request_id']);

  beforeAll(async () => {
    server = await sharedServer();
    for (const [email, session, ip] of [
      ['ann@mail.example', 'token-ann-1', '198.51.100.1'],
      ['Ann+news@mail.example', 'token-ann-2', '198.51.100.2'],
      ['bob@mail.example', 'token-bob-1', '198.51.100.2'],
    ] as const) {
      const body = { ...CALM, ip, session_token: session, entity_keys: { email, tier: 'gold' }, event_type: 'login' };
      const answer = await decide(server.url, server.secretKey, { ...body, url: 'https://shop.example/login?user=x' });
      ids.unshift(String(answer.json['request_id']));
    }
  });

  test('Decisions are found by an identity, a session token, an address, a network and a fingerprint', async () => {
    const [bob, second, first] = ids;
    expect(await idsOf(`link=${encodeURIComponent('entity.email:ANN@mail.example')}`)).toEqual([second, first]);
    expect(await idsOf('link=entity.tier:gold')).toEqual(ids);
    expect(await idsOf('link=session:token-ann-2')).toEqual([second]);
    expect(await idsOf('link=ip:198.51.100.2')).toEqual([bob, second]);
    expect(await idsOf('link=network:198.51.100.0/24')).toEqual(ids);
    const [row] = await rowsOf('link=session:token-bob-1');
    const fingerprint = String(row?.['fingerprint_hash']);
    expect(await idsOf(`fingerprint_hash=${fingerprint.toUpperCase()}`)).toEqual([bob]);
    expect(await idsOf(`link=fingerprint:${fingerprint}`)).toEqual([bob]);
    expect(await idsOf(`fingerprint_hash=${fingerprint}&link=ip:198.51.100.1`)).toEqual([]);
  });

  test('A decision shows its path, network and links; an identity only as a hash, which finds it again', async () => {
    const [row] = await rowsOf('link=session:token-bob-1');
    expect(row).toMatchObject({ path: '/login', network: '198.51.100.0/24' });
    const links = row?.['links'] as { kind: string; id: string }[];
    expect(links.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['session', 'ip', 'network', 'fingerprint', 'entity.email', 'entity.tier']),
    );
    for (const { kind, id } of links) {
      const found = await idsOf(`link=${encodeURIComponent(`${kind}:${id}`)}`);
      expect([kind, ...found]).toContain(ids[0]);
    }
    expect(JSON.stringify(row)).not.toContain('bob@mail.example');
  });

  test('Pages of a filtered search continue where the previous one ended', async () => {
    const first = await get('/v1/decisions?link=entity.tier:gold&limit=2');
    const cursor = String(first.json['next_cursor']);
    const second = await get(`/v1/decisions?link=entity.tier:gold&limit=2&cursor=${cursor}`);
    const pages = [...(first.json['data'] as Json[]), ...(second.json['data'] as Json[])];
    expect(pages.map((row) => row['request_id'])).toEqual(ids);
    expect(second.json['has_more']).toBe(false);
  });

  test('GET /v1/links counts the decisions of a link and its neighbours', async () => {
    const answer = await get('/v1/links?kind=ip&value=198.51.100.2');
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ kind: 'ip', decisions: 2, truncated: false });
    const neighbours = answer.json['neighbours'] as { kind: string; id: string; count: number }[];
    expect(neighbours.some(({ kind, id }) => kind === 'ip' && id === '198.51.100.2')).toBe(false);
    expect(neighbours.filter(({ kind }) => kind === 'entity.email').map(({ count }) => count)).toEqual([1, 1]);
    expect(neighbours.find(({ kind }) => kind === 'network')).toMatchObject({ id: '198.51.100.0/24', count: 2 });
    const none = await get('/v1/links?kind=entity.email&value=nobody@mail.example');
    expect(none.json).toEqual({
      kind: 'entity.email',
      decisions: 0,
      blocked: 0,
      challenged: 0,
      first_seen: null,
      last_seen: null,
      truncated: false,
      neighbours: [],
    });
  });

  test('GET /v1/fingerprints shows what is known of a fingerprint, and 404 for one that nobody has seen', async () => {
    const [row] = await rowsOf('link=session:token-ann-1');
    const answer = await get(`/v1/fingerprints/${String(row?.['fingerprint_hash'])}`);
    // An e-mail address and another name are one person.
    const period = { sessions: 1, identities: 1, addresses: 1, networks: 1 };
    expect(answer.json).toMatchObject({
      day: period,
      month: period,
      common: false,
      list_action: null,
      truncated: false,
    });
    expect((await get(`/v1/fingerprints/${'0'.repeat(64)}`)).status).toBe(404);
    expect((await get('/v1/fingerprints/none')).status).toBe(404);
  });

  test('Another customer finds nothing', async () => {
    const other = await sharedServer();
    const answer = await get('/v1/links?kind=entity.tier&value=gold', other.secretKey);
    expect(answer.json['decisions']).toBe(0);
    const cursor = String((await get('/v1/decisions?limit=1')).json['next_cursor']);
    expect((await get(`/v1/decisions?limit=1&cursor=${cursor}`, other.secretKey)).status).toBe(400);
  });

  test.each([
    ['/v1/decisions?since=x', 'since'],
    ['/v1/decisions?until=-1', 'until'],
    ['/v1/decisions?score_min=101', 'score_min'],
    ['/v1/decisions?score_max=1.5', 'score_max'],
    ['/v1/decisions?reason=a%20b', 'reason'],
    ['/v1/decisions?fingerprint_hash=abc', 'fingerprint_hash'],
    ['/v1/decisions?link=email:a', 'link'],
    ['/v1/decisions?link=ip:nowhere', 'link'],
    ['/v1/decisions?link=entity.:a', 'link'],
    ['/v1/links?kind=mail&value=a', 'kind'],
    ['/v1/links?value=a', 'kind'],
    ['/v1/links?kind=ip', 'value'],
    ['/v1/links?kind=network&value=10.0.0.0/8', 'value'],
  ])('GET %s is 400 and names the parameter', async (path, name) => {
    const answer = await get(path);
    expect(answer.status).toBe(400);
    expect(answer.json['errors']).toEqual([expect.objectContaining({ pointer: `?${name}` })]);
  });
});
