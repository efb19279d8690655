import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decide, newcomer } from '../../support/requests.ts';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  HOSTILE,
  problemBody,
  startHarness,
  type Harness,
  type Override,
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
    harness = await startHarness();
  });
  afterAll(() => harness.stop());

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

  test.each([
    ['light', 1_280],
    ['dark', 1_280],
    // 1,280 pixels at 200 % zoom.
    ['light', 640],
    ['light', 320],
  ] as const)(
    'says in words what is broken, and shows hostile text as text, in the %s theme at %i pixels',
    async (theme, width) => {
      const page = await harness.open(PATH, { theme, width, override: hostile });
      await page.getByText('Decisions are made with less evidence.').waitFor();
      await page.getByText('Rules decide alone.').waitFor();
      await page.getByText('New file refused').waitFor();
      await page.getByText(/The newest backup was made/).waitFor();
      await page.getByText('Revoked', { exact: true }).last().waitFor();
      expect(await page.locator('img').count()).toBe(0);
      expect(await page.locator('body').textContent()).toContain('⟨U+202E⟩');
      await expectNoSideScroll(page);
      await expectAccessible(page);
      await shoot(page, `keys-hostile-${theme}-${width}`);
      expectClean(page);
    },
  );

  test('reads the health of a service that is not ready, and shows faults and old data of each part by itself', async () => {
    let isDown = true;
    // 403 is not tried again by itself: the button is there until somebody presses it.
    let status = 403;
    const page = await harness.open(PATH, {
      override: (path) => {
        if (path === '/readyz')
          return { status: 503, body: { status: 'unavailable', version: '1', node: '20', layers: LAYERS } };
        if (isDown && path === '/v1/keys') return problemBody(status, 'internal_error', 'Something failed');
        return null;
      },
    });
    await page.getByText('the journal cannot be written').waitFor();
    await page.getByText('req_OFTHETEST').waitFor();
    await expectAccessible(page);
    isDown = false;
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('yours', { exact: true }).waitFor();
    [isDown, status] = [true, 503];
    await page.getByText(/As of .* retrying in/).waitFor();
    await shoot(page, 'keys-stale');
    expectClean(page);
  });
});
