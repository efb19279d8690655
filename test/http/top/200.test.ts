import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { CALM, decide } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

type Json = Record<string, unknown>;

describe('GET /v1/top', () => {
  let server: SharedServer;
  const get = (query: string, key = server.secretKey): Promise<{ status: number; json: Json }> =>
    bearer(server.url, key, 'GET', `/v1/top?${query}`);
  const rowsOf = async (query: string): Promise<Json[]> => (await get(query)).json['rows'] as Json[];

  beforeAll(async () => {
    server = await sharedServer();
    for (const [email, ip, agent] of [
      ['ann', '198.51.100.1', CALM.user_agent],
      ['bob', '198.51.100.1', CALM.user_agent],
      ['cat', '198.51.100.1', 'curl/8.5.0'],
      ['ann', '198.51.100.2', 'curl/8.5.0'],
      ['ann', '203.0.113.9', CALM.user_agent],
    ] as const) {
      const body = {
        ...CALM,
        ip,
        user_agent: agent,
        entity_keys: { email: `${email}@mail.example` },
        event_type: 'login',
      };
      const token = `t-${ip}-${agent.length}`;
      const { status } = await decide(server.url, server.secretKey, { ...body, session_token: token });
      if (status !== 200) throw new Error(`decide answered ${status}`);
    }
  });

  test('Subjects are counted by decisions, and their id finds their decisions', async () => {
    const [first] = await rowsOf('by=ip');
    expect(first).toMatchObject({ kind: 'ip', id: '198.51.100.1', count: 3, decisions: 3, challenged: 1 });
    expect(await rowsOf('by=network')).toMatchObject([
      { id: '198.51.100.0/24', count: 4 },
      { id: '203.0.113.0/24', count: 1 },
    ]);
    const [identity] = await rowsOf('by=identity');
    expect(identity).toMatchObject({ kind: 'entity.email', count: 3 });
    const link = encodeURIComponent(`${String(identity?.['kind'])}:${String(identity?.['id'])}`);
    const found = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions?link=${link}`);
    expect(found.json['data']).toHaveLength(3);
  });

  test('Subjects are counted by distinct others', async () => {
    expect(await rowsOf('by=ip&count=identities')).toMatchObject([
      { id: '198.51.100.1', count: 3 },
      { count: 1 },
      { count: 1 },
    ]);
    expect((await rowsOf('by=identity&count=fingerprints'))[0]).toMatchObject({ count: 3, decisions: 3 });
    expect((await rowsOf('by=fingerprint&count=identities'))[0]).toMatchObject({ count: 2 });
    expect(await rowsOf('by=ip&count=flagged')).toMatchObject([{ count: 1 }, { count: 1 }]);
    expect(await rowsOf('by=reason')).toContainEqual(
      expect.objectContaining({ kind: 'reason', id: 'device_http_library', count: 2 }),
    );
    expect(await rowsOf('by=event_type')).toMatchObject([{ kind: 'event_type', id: 'login', count: 5 }]);
    expect(await rowsOf('by=entity.phone')).toEqual([]);
  });

  test('The range and the number of examined decisions are returned, and another customer has none', async () => {
    const { json } = await get('by=ip&from=1000&to=2000');
    expect(json).toEqual({
      by: 'ip',
      count: 'decisions',
      from: 1_000,
      to: 2_000,
      decisions: 0,
      is_truncated: false,
      rows: [],
    });
    expect((await get('by=ip')).json).toMatchObject({ decisions: 5, is_truncated: false });
    const other = await sharedServer();
    expect((await get('by=ip', other.secretKey)).json).toMatchObject({ decisions: 0, rows: [] });
  });

  test.each([
    ['', 'by'],
    ['by=everything', 'by'],
    ['by=entity.', 'by'],
    ['by=ip&count=cats', 'count'],
    ['by=ip&from=2000&to=2000', 'from'],
    ['by=ip&to=soon', 'to'],
  ])('GET /v1/top?%s is 400 and names the parameter', async (query, name) => {
    const { status, json } = await get(query);
    expect([status, json['errors']]).toEqual([400, [expect.objectContaining({ pointer: `?${name}` })]]);
  });
});
