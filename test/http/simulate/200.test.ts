import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { CALM, decide, newcomer, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

type Json = Record<string, unknown>;

const CURL = { ...CALM, user_agent: 'curl/8.5.0', event_type: 'payment' };

describe.each(TRANSPORTS)('POST /v1/simulate over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  const simulate = async (body: unknown): Promise<Json> => {
    const { status, json } = await call(server.url, server.secretKey, 'POST', '/v1/simulate', body);
    expect(status).toBe(200);
    return json;
  };

  test('A simulation answers as decide does, and with what the decision follows from', async () => {
    const body = { ...CURL, session_token: `simulated-${transport}`, ip: `81.2.70.${transport === 'uws' ? 1 : 2}` };
    const simulated = await simulate(body);
    const { json: decided } = await decide(server.url, server.secretKey, body);
    const { json: found } = await bearer(
      server.url,
      server.secretKey,
      'GET',
      `/v1/decisions/${String(decided['request_id'])}`,
    );
    const own = { request_id: null, latency_ms: null, occurred_at: null, label: undefined, shadow_routed: null };
    expect({ ...simulated, ...own }).toEqual({ ...found, ...own });
    expect(simulated).not.toHaveProperty('label');
  });

  test('An empty token is challenged, and a malformed field is named', async () => {
    expect(await simulate({ ...CALM, session_token: '' })).toMatchObject({
      decision: 'SOFT_CHALLENGE',
      overridden_by: 'missing_session_token',
    });
    const { status, json } = await call(server.url, server.secretKey, 'POST', '/v1/simulate', { ...CALM, ip: 7 });
    expect([status, json['code']]).toEqual([400, 'invalid_request']);
    expect(json['errors']).toEqual([expect.objectContaining({ pointer: '/ip' })]);
  });

  test('A body that decide would refuse for its size is refused', async () => {
    const body = { ...CALM, url: 'x'.repeat(65_536) };
    const { status, json } = await bearer(server.url, server.secretKey, 'POST', '/v1/simulate', body);
    expect([status, json['code']]).toEqual([413, 'body_too_large']);
  });

  test('Nothing of a simulation is counted, stored or sent', async () => {
    const fresh = await sharedServer(transport);
    const ask = async (path: string): Promise<unknown> => (await bearer(fresh.url, fresh.secretKey, 'GET', path)).json;
    const webhook = { url: 'https://receiver.example/hook', event_types: ['ALLOW', 'SOFT_CHALLENGE', 'REVIEW'] };
    expect((await call(fresh.url, fresh.secretKey, 'POST', '/v1/webhooks', webhook)).status).toBe(201);
    const state = (): Promise<unknown[]> =>
      Promise.all(
        [
          '/v1/decisions',
          '/v1/stats?step=86400',
          '/v1/shadow-reviews',
          '/v1/lists',
          '/v1/lists/candidates',
          '/v1/audit',
          `/v1/links?kind=ip&value=${CURL.ip}`,
        ].map((path) => ask(path)),
      );
    const known = newcomer();
    expect((await decide(fresh.url, fresh.secretKey, known)).status).toBe(200);
    const withoutTime = (all: unknown[]): string => JSON.stringify(all).replaceAll(/"(?:from|to)":\d+/g, '');
    const deliveries = async (): Promise<unknown> => {
      const { data } = (await ask('/v1/webhooks/deliveries')) as { data: Json[] };
      return data.map(({ id }) => id);
    };
    const before = withoutTime([...(await state()), await deliveries()]);
    const ids: string[] = [];
    for (let n = 0; n < 40; n++) {
      const body = {
        ...CURL,
        session_token: `s-${n % 3}`,
        event_type: 'login',
        entity_keys: { user_id: randomUUID() },
      };
      const { json } = await call(fresh.url, fresh.secretKey, 'POST', '/v1/simulate', body);
      expect(json['reasons']).toContain('device_http_library');
      ids.push(String(json['request_id']));
    }
    expect(withoutTime([...(await state()), await deliveries()])).toBe(before);
    // The id of a simulation is no decision's: it can be neither found nor labelled.
    expect((await bearer(fresh.url, fresh.secretKey, 'GET', `/v1/decisions/${ids[0] ?? ''}`)).status).toBe(404);
    const label = { request_id: ids[0], label: 'fraud' };
    expect((await call(fresh.url, fresh.secretKey, 'POST', '/v1/labels', label)).status).toBe(404);
    // 40 logins of 40 accounts at one address in a minute would have been found.
    const after = await decide(fresh.url, fresh.secretKey, { ...CURL, session_token: 's-0', event_type: 'login' });
    const { json: found } = await bearer(
      fresh.url,
      fresh.secretKey,
      'GET',
      `/v1/decisions/${String(after.json['request_id'])}`,
    );
    expect(found['reasons']).not.toContain('velocity_session_1m');
    expect(found['reasons']).not.toContain('velocity_ip_entities_1h');
    expect(found['reasons']).not.toContain('velocity_ip_logins_10m');
  });
});
