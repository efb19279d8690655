import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { decide, newcomer } from '../../support/requests.ts';
import {
  expectAccessible,
  expectClean,
  expectReadable,
  HOSTILE,
  problemBody,
  type Harness,
  type Override,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { shoot } from '../support/pictures.ts';

const PATH = '/dashboard/keys';
const AT = 1_795_262_400;

const KEY = {
  prefix: 'pk_live_4f2a',
  name: HOSTILE,
  kind: 'public',
  test: false,
  scopes: ['decide'],
  networks: [],
  created_at: AT,
  expires_at: null,
  revoked_at: null,
  replaced_by: null,
  rate_limit: 6_000,
  origins: [HOSTILE],
  is_current: false,
  usage: { since: AT, calls: 12_400, refusals: { rate_limited: 2, [HOSTILE]: 5, a: 1, b: 1 }, last_used_at: AT },
};
const REVOKED = { ...KEY, prefix: 'sk_live_9999', kind: 'secret', revoked_at: AT, origins: [], created_at: AT + 1 };

const ok = { state: 'ok', version: HOSTILE, detail: '' };
const LAYERS = {
  store: ok,
  geoip_city: { ...ok, refused: true, detail: HOSTILE },
  geoip_country: ok,
  geoip_asn: { state: 'absent', version: null, detail: '' },
  anonymiser: ok,
  hosting_networks: ok,
  model: { state: 'broken', version: null, detail: HOSTILE },
  webhooks: ok,
  extraction: ok,
  policy: ok,
  backups: { state: 'ok', version: '2026-11-20T13:00:00.000Z', detail: '' },
};

const hostile: Override = (path) => {
  if (path === '/v1/keys') return { body: { data: [KEY, REVOKED], has_more: false, next_cursor: null } };
  if (path === '/readyz')
    return {
      body: {
        status: 'degraded',
        transport: 'node',
        transport_detail: HOSTILE,
        version: '1',
        node: HOSTILE,
        layers: LAYERS,
      },
    };
  return null;
};

describe('The page of keys and health', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await sharedHarness();
  });

  test('counts calls and refusals of each key by code, and says which key is in use', async () => {
    const { url, secretKey, publicKey } = harness.api;
    await decide(url, publicKey, newcomer());
    await decide(url, secretKey, '{');
    const page = await harness.open(PATH);
    const own = page.getByRole('row').filter({ hasText: 'yours' });
    await own.getByText(/1 malformed json|1 invalid json|1 \w+/).waitFor();
    const other = page.getByRole('row').filter({ hasText: publicKey.slice(0, 12) });
    await other.getByText('just now').first().waitFor();
    await page.getByText('Everything that is set up works.').waitFor();
    await page.getByText(/Yours and the server’s agree/).waitFor();
    await expectAccessible(page);
    await shoot(page, 'keys');
    await page.getByRole('link', { name: 'Public', exact: true }).click();
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    expect(new URL(page.url()).search).toBe('?kind=public');
    await page.getByRole('link', { name: 'Revoked', exact: true }).click();
    await page.getByText('No such key').waitFor();
    await page.getByText('Keys on the command line').click();
    await page.getByText(/keys create --customer cus_[0-9A-Z]{26} /).waitFor();
    await expectAccessible(page);
    expectClean(page);
  });

  test('makes a key whose text is shown once, replaces it with an overlap and revokes it', async () => {
    const page = await harness.open(PATH);
    await page.getByRole('button', { name: 'New key' }).click();
    const make = page.getByRole('dialog', { name: 'New key' });
    await make.getByLabel('Name').fill('checkout service');
    await make.getByLabel(/^Read:/).check();
    await make.getByLabel('Networks').fill('127.0.0.1, 10.0.0.0/8');
    await make.getByLabel('Expires').selectOption('After 7 days');
    await expectAccessible(page);
    await shoot(page, 'keys-new');
    await make.getByLabel('Networks').fill('127.0.0.1/8');
    await make.getByRole('button', { name: 'Make the key' }).click();
    await make.getByText(/without bits beyond its prefix/).waitFor();
    await make.getByLabel('Networks').fill('127.0.0.1, 10.0.0.0/8');
    await make.getByRole('button', { name: 'Make the key' }).click();
    const shown = page.getByRole('dialog', { name: 'The key, shown once' });
    const secret = (await shown.getByRole('region', { name: 'Secret key' }).textContent()) ?? '';
    expect(secret).toMatch(/^sk_live_/);
    expect(await shown.getByRole('region', { name: 'Public key' }).textContent()).toMatch(/^pk_live_/);
    await shown.getByRole('button', { name: 'Copy Secret key' }).waitFor();
    await expectAccessible(page);
    await shoot(page, 'keys-shown-once');
    await shown.getByRole('button', { name: 'I have stored it' }).click();
    expect((await bearer(harness.api.url, secret, 'GET', '/v1/me')).json).toMatchObject({ scopes: ['decide', 'read'] });
    expect(await page.content()).not.toContain(secret);

    const row = page.getByRole('row').filter({ hasText: secret.slice(0, 12) });
    await row.getByText('checkout service').waitFor();
    await row.getByText('Expires in 6 days').waitFor();
    await row.getByRole('link').click();
    const pane = page.getByRole('complementary', { name: secret.slice(0, 12) });
    await pane.getByText('127.0.0.1/32, 10.0.0.0/8').waitFor();
    await expectReadable(page);
    await shoot(page, 'keys-pane');
    await pane.getByRole('button', { name: 'Rotate' }).click();
    const rotate = page.getByRole('dialog', { name: 'Rotate the key' });
    await rotate.getByLabel('The old key ends').selectOption('After 1 hour');
    await rotate.getByRole('button', { name: 'Make a new key' }).click();
    const next = (await shown.getByRole('region', { name: 'Secret key' }).textContent()) ?? '';
    await shown.getByText(/The old key is valid until/).waitFor();
    await shown.getByRole('button', { name: 'I have stored it' }).click();
    await row.getByText('Rotating until').waitFor();
    for (const key of [secret, next])
      expect((await bearer(harness.api.url, key, 'GET', '/v1/me')).json).toMatchObject({ scopes: ['decide', 'read'] });

    await pane.getByRole('button', { name: 'Revoke' }).click();
    const revoke = page.getByRole('dialog', { name: 'Revoke the key' });
    await revoke.getByText(/It was last used/).waitFor();
    await revoke.getByText(/your shop goes on without decisions/).waitFor();
    await expectAccessible(page);
    await shoot(page, 'keys-revoke');
    await revoke.getByRole('button', { name: 'Revoke' }).click();
    await row.getByText('Revoked').waitFor();
    expect((await bearer(harness.api.url, secret, 'GET', '/v1/me')).json['code']).toBe('unknown_key');
    expect(await pane.getByRole('button', { name: 'Revoke' }).count()).toBe(0);
    expectClean(page);
  });

  test('replaces the key of the session only with an overlap, because the session ends with the key', async () => {
    const page = await harness.open(PATH);
    await page.getByRole('row').filter({ hasText: 'yours' }).getByRole('link').click();
    await page.getByRole('button', { name: 'Rotate' }).click();
    const choices = page.getByRole('dialog').getByRole('option');
    await page.getByText('You are signed in with it').waitFor();
    expect(await choices.allTextContents()).toEqual(['After 1 hour', 'After 1 day', 'After 7 days']);
  });

  test('offers nothing that a session without the scope admin may not do', async () => {
    const page = await harness.open(PATH, {
      override: (path) => {
        const own = { ...REVOKED, revoked_at: null, scopes: ['read'], is_current: true };
        return path === '/v1/keys' ? { body: { data: [own], has_more: false, next_cursor: null } } : null;
      },
    });
    await page.getByText('a key without the scope admin').waitFor();
    await page.getByRole('row').filter({ hasText: 'yours' }).getByRole('link').click();
    await page.getByText('Read: reads everything').waitFor();
    for (const name of ['New key', 'Rotate', 'Revoke'])
      expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
    expectClean(page);
  });

  test('shows code whole, without scrolling to the side, on a phone too', async () => {
    const page = await harness.open('/dashboard/keys', { width: 390 });
    const code = page.getByRole('region', { name: 'Collector' }).locator('pre');
    await code.waitFor();
    expect(await code.evaluate((pre) => pre.scrollWidth - pre.clientWidth)).toBe(0);
  });

  test('names the link of the location data', async () => {
    const page = await harness.open(PATH);
    expect(await page.getByRole('link', { name: 'IP Geolocation by DB-IP' }).getAttribute('href')).toBe(
      'https://db-ip.com',
    );
    expectClean(page);
  });

  test('shows the line for pages with the integrity of the bytes that are served', async () => {
    const page = await harness.open('/dashboard/audit');
    const script = 'globalThis.gatehouse = {};';
    await page.route('**/v1/collector/1.2.3.js', (route) =>
      route.fulfill({ contentType: 'text/javascript; charset=utf-8', body: script }),
    );
    await page.route('**/dashboard/api/session', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), collector_version: '1.2.3' } });
    });
    await page.goto(`${harness.api.url}${PATH}`);
    const integrity = `sha384-${createHash('sha384').update(script).digest('base64')}`;
    await page.getByText(`integrity="${integrity}"`).waitFor();
    await expectAccessible(page);
    await shoot(page, 'keys-collector');
    expectClean(page);
  });

  test('says in words what is broken, and shows hostile text as text', async () => {
    const page = await harness.open(PATH, { override: hostile });
    await page.getByText('Decisions are made with less evidence.').waitFor();
    await page.getByText('Rules decide alone.').waitFor();
    await page.getByText('New file refused').waitFor();
    await page.getByText(/The newest backup was made/).waitFor();
    await page.getByText('Revoked', { exact: true }).last().waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('body').textContent()).toContain('⟨U+202E⟩');
    await expectReadable(page);
    await shoot(page, 'keys-hostile');
    expectClean(page);
  });

  test('says that the first automatic backup is still to come', async () => {
    const backups = { state: 'ok', version: null, detail: 'no automatic backup yet' };
    const body = { status: 'ok', transport: 'node', version: '1', node: '20', layers: { backups } };
    const page = await harness.open(PATH, { override: (path) => (path === '/readyz' ? { body } : null) });
    const item = page.getByRole('listitem').filter({ hasText: 'Backups' });
    await item.getByText('Waiting').waitFor();
    await item.getByText('no automatic backup yet').waitFor();
    expect(await item.getByText('Works').count()).toBe(0);
  });

  test('names what is not seen because a list is old, held back or absent', async () => {
    const feed = (state: string, days: number | null, detail = '') => ({
      version: null,
      age_days: days,
      state,
      rows: 1,
      detail,
    });
    const data = {
      tor: feed('old', 900),
      vpn: feed('ok', 3),
      crawlers: feed('held', 3, HOSTILE),
      asn: feed('absent', null),
    };
    const body = { status: 'ok', transport: 'node', version: '1', node: '20', layers: LAYERS, data };
    const page = await harness.open(PATH, { override: (path) => (path === '/readyz' ? { body } : null) });
    await page
      .getByText('Payments and logins from newer exits of Tor are not seen: the list is 900 days old.')
      .waitFor();
    await page
      .getByText('Rules about the owner of a network see hosting companies only: no such list is here.')
      .waitFor();
    expect(await page.getByText('Newer networks of VPN services').count()).toBe(0);
    await expectReadable(page);
    await shoot(page, 'keys-data-risks');
    expectClean(page);
  });

  test('reads the health of a service that is not ready, also while the keys cannot be read', async () => {
    const body = { status: 'unavailable', version: '1', node: '20', layers: LAYERS };
    const page = await harness.open(PATH, {
      override: (path) => {
        if (path === '/readyz') return { status: 503, body };
        return path === '/v1/keys' ? problemBody(403, 'internal_error', 'Something failed') : null;
      },
    });
    await page.getByText('the journal cannot be written').waitFor();
    await page.getByText('req_OFTHETEST').waitFor();
    expectClean(page);
  });
});
