import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
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
  kind: 'public',
  created_at: AT,
  revoked_at: null,
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
    await page.getByText('Create and revoke keys').click();
    await page.getByText(/keys create --customer cus_[0-9A-Z]{26}\n/).waitFor();
    await expectAccessible(page);
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
