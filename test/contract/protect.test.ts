import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Gatehouse, type GatehouseOptions } from '../../src/client/gatehouse.ts';
import type { GuardedRequest } from '../../src/client/protect/protection.ts';
import { sharedServer, type SharedServer } from '../support/shared-server.ts';
import { SHOPS, type Shop, type ShopOptions } from '../support/shops.ts';

/** The middleware in its frameworks, in front of a real server. */

const CALM_AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36';
const HEADLESS_AGENT = CALM_AGENT.replace('Chrome/', 'HeadlessChrome/');

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

let visitors = 0;

describe.each(Object.keys(SHOPS) as (keyof typeof SHOPS)[])('protect of %s', (framework) => {
  const shops: Shop[] = [];
  afterEach(async () => {
    for (const shop of shops.splice(0)) await shop.close();
  });

  /** A shop, the requests that its client sends, and a visitor with an address of its own behind the shop's proxy. */
  async function open(options: ShopOptions = {}, clientOptions: Partial<GatehouseOptions> = {}) {
    const decided: Record<string, unknown>[] = [];
    const outcomes: { readonly request_id: string; readonly outcome: string }[] = [];
    const client = new Gatehouse({
      url: server.url,
      key: server.secretKey,
      timeoutMs: 20_000,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        const body = JSON.parse(init.body as string) as Record<string, never>;
        if (url.endsWith('/v1/outcomes') && response.status === 202) outcomes.push(...(body['outcomes'] ?? []));
        if (url.endsWith('/v1/decide')) decided.push(body);
        return response;
      },
      ...clientOptions,
    });
    let guarded: GuardedRequest | null = null;
    const shop = await SHOPS[framework](client, {
      trustProxy: ['loopback'],
      ...options,
      onLogin: (given) => {
        guarded = given;
        options.onLogin?.(given);
      },
    });
    shops.push(shop);
    visitors++;
    const forwarded = `9.9.9.9, 81.3.${visitors >> 8}.${1 + (visitors & 255)}`;
    let cookie = '';
    const login = async (password: string, agent = CALM_AGENT, more: object = {}): Promise<string> => {
      const response = await fetch(`${shop.url}/login`, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          'content-type': 'application/json',
          'user-agent': agent,
          'accept-language': 'en',
          'x-forwarded-for': forwarded,
          cookie,
        },
        body: JSON.stringify({ email: `anna-${visitors}@example.com`, password, ...more }),
      });
      cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
      return `${response.status} ${await response.text()}`;
    };
    return { client, login, decided, outcomes, guarded: () => guarded, ip: forwarded.split(', ')[1] };
  }

  const named = (outcomes: readonly { readonly outcome: string }[]): readonly string[] =>
    outcomes.map(({ outcome }) => outcome);

  test('The decision knows address, identity, page and visit, and the response’s status is reported as the outcome', async () => {
    const { login, decided, outcomes, guarded, ip } = await open();
    expect(await login('wrong')).toBe('401 ALLOW');
    await expect.poll(() => named(outcomes)).toEqual(['failed']);
    expect(await login('right')).toBe('200 ALLOW');
    await expect.poll(() => named(outcomes)).toEqual(['failed', 'succeeded']);
    expect(decided[0]).toMatchObject({
      event_type: 'login',
      ip,
      user_agent: CALM_AGENT,
      entity_keys: { email: `anna-${visitors}@example.com` },
      headers: { 'accept-language': 'en' },
    });
    expect(String(decided[0]?.['url'])).toMatch(/^http:\/\/\S+\/login$/);
    expect(decided[0]?.['session_token']).toMatch(/^[0-9a-f]{32}$/);
    expect(decided[1]?.['session_token']).toBe(decided[0]?.['session_token']);
    expect(guarded()?.result).toMatchObject({ failedOpen: false, request_id: outcomes[1]?.request_id });
  });

  test('A redirect reports nothing, and what the application says counts once', async () => {
    const { login, outcomes } = await open();
    expect(await login('redirect')).toMatch(/^302/);
    const told = await open({
      onLogin: ({ outcome }) => {
        outcome('failed');
        outcome('succeeded');
      },
    });
    expect(await told.login('redirect')).toMatch(/^302/);
    await expect.poll(() => named(told.outcomes)).toEqual(['failed']);
    expect(outcomes).toEqual([]);
  });

  test('The token of the collector is the session', async () => {
    const { login, decided } = await open();
    await login('right', CALM_AGENT, { session_token: 'token-of-the-collector' });
    expect(decided[0]?.['session_token']).toBe('token-of-the-collector');
  });

  test('Before mode enforce nobody is held up, whatever the decision', async () => {
    const { login, guarded } = await open({ challenges: true });
    expect(await login('right', HEADLESS_AGENT)).toBe('200 ALLOW');
    expect(guarded()).toMatchObject({ decision: 'ALLOW', result: { decision: 'SOFT_CHALLENGE' } });
  });

  test('With mode enforce a handler answers a challenge, which has no outcome until the application reports one', async () => {
    const { login, guarded, outcomes } = await open({ mode: 'enforce', challenges: true });
    expect(await login('right', HEADLESS_AGENT)).toBe('401 challenge');
    expect([guarded(), outcomes]).toEqual([null, []]);
    const handled = await open({ mode: 'enforce' });
    expect(await handled.login('right', HEADLESS_AGENT)).toBe('200 SOFT_CHALLENGE');
    expect(handled.outcomes).toEqual([]);
    await handled.client.outcome(handled.guarded()?.result ?? null, 'challenge_passed');
    expect(named(handled.outcomes)).toEqual(['challenge_passed']);
  });

  test('With mode enforce BLOCK is a 403 without an outcome', async () => {
    const { client, login, guarded, outcomes } = await open({ mode: 'enforce' });
    await login('right');
    await client.flush();
    const { result } = guarded() ?? {};
    const hash = result?.failedOpen === false ? result.fingerprint_hash : undefined;
    await client.lists.put({ kind: 'fingerprint', value: hash ?? '', action: 'block', confirm: true });
    expect(await login('right')).toBe('403 Forbidden');
    await client.flush();
    expect(named(outcomes)).toEqual(['succeeded']);
  });

  test('A private address is an error that names the setting, and holds nobody up before mode enforce', async () => {
    const errors: unknown[] = [];
    const seen = await open({ trustProxy: 0, onError: (error) => errors.push(error) });
    expect(await seen.login('right')).toBe('200 ALLOW');
    expect(seen.decided).toEqual([]);
    expect(String(errors[0])).toMatch(/127\.0\.0\.1.*trustProxy/);
    const enforced = await open({ trustProxy: 0, mode: 'enforce' });
    expect(await enforced.login('right')).toMatch(/^500/);
  });
});
