import { beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  expectReadable,
  type Harness,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { hostileCopy } from '../support/dashboard-rows.ts';
import { deviceHash, FARM, FARM_IDENTITIES, seedTraffic } from '../support/seed-traffic.ts';

const DEVICE = `/dashboard/links/fingerprint/${deviceHash(FARM)}`;

describe('The page of one identity, device, address, network or session', () => {
  let harness: Harness;
  const bodies = new Map<string, unknown>();

  beforeAll(async () => {
    harness = await sharedHarness();
    await seedTraffic(harness.api);
    const headers = { Authorization: `Bearer ${harness.api.secretKey}` };
    const hash = deviceHash(FARM);
    for (const path of [
      `/v1/links?kind=fingerprint&value=${hash}`,
      `/v1/decisions?link=fingerprint:${hash}`,
      `/v1/fingerprints/${hash}`,
    ])
      bodies.set(path.split('?')[0] ?? '', await (await fetch(`${harness.api.url}${path}`, { headers })).json());
  });

  test.each([1_280, 640])('has figures, lanes, neighbours, and a graph on wide screens: %i pixels', async (width) => {
    const page = await harness.open(DEVICE, { width });
    await page.getByRole('heading', { level: 1, name: 'Fingerprint 6661726d' }).waitFor();
    await page.getByText('Show all 36').waitFor();
    expect(await page.getByRole('definition').allTextContents()).toContain('36');
    // A lane for each of the twelve mail addresses, with a dot for each decision.
    await expect.poll(() => page.locator('.lane').count()).toBe(FARM_IDENTITIES);
    expect(await page.locator('.lane-dot').count()).toBe(36);
    await page.getByRole('region', { name: 'On your list' }).getByText('12 identities').first().waitFor();
    if (width > 1_000) await page.locator('.graph-node').first().waitFor();
    expect(await page.locator('.graph').count()).toBe(width > 1_000 ? 1 : 0);
    expectClean(page);
  });

  test('shows the graph on a narrow screen when asked, with no step of Tab inside it', async () => {
    const page = await harness.open(DEVICE, { width: 640 });
    await page.getByRole('link', { name: 'Table and graph' }).click();
    await page.locator('.graph-node').first().waitFor();
    expect(new URL(page.url()).searchParams.get('view')).toBe('graph');
    // 12 mail addresses, 12 user ids, 5 sessions, 4 addresses, 1 network, and the device itself.
    expect(await page.locator('.graph-node').count()).toBe(35);
    expect(await page.locator('.graph a:not([tabindex="-1"])').count()).toBe(0);
    await expectNoSideScroll(page);
    await expectAccessible(page);
  });

  test('leads from a value to its own page, by keys alone, and changes the lanes by a link', async () => {
    const page = await harness.open(`${DEVICE}?kind=ip`);
    await page.getByRole('table', { name: 'Linked with' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: /^Address 81\.2\.69\.16\d$/ }).waitFor();
    await page.getByRole('navigation', { name: 'One lane for each' }).getByRole('link', { name: 'session' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('lanes')).toBe('session');
    await page.goBack();
    await expect.poll(() => new URL(page.url()).searchParams.get('lanes')).toBe(null);
    await page.getByRole('link', { name: 'In the log' }).click();
    await page.getByText('9 loaded').waitFor();
  });

  test('finds an identity by the value that was sent, and a network by its range', async () => {
    const page = await harness.open('/dashboard/links/entity.email/farmer1%40shop.example');
    await page.getByRole('heading', { level: 1, name: 'Email farmer1@shop.example' }).waitFor();
    await page.getByRole('link', { name: '6661726d' }).first().waitFor();
    await page.goto(`${harness.api.url}/dashboard/links/network/81.2.69.0%2F24`);
    await page.getByRole('heading', { level: 1, name: 'Network 81.2.69.0/24' }).waitFor();
    await page.getByText('Show all 36').waitFor();
    expectClean(page);
  });

  test('blocks a device for 30 days after showing how many it hits, takes it back, and removes an entry', async () => {
    const page = await harness.open(DEVICE);
    await page.getByText('It is not on your list.').waitFor();
    await page.keyboard.press('b');
    const dialog = page.getByRole('dialog', { name: 'Block the fingerprint 6661726d' });
    await dialog.getByText('12 identities').first().waitFor();
    await expectAccessible(page);
    await dialog.getByLabel('Note').fill('a farm');
    await dialog.getByRole('button', { name: 'Block for 30 days' }).click();
    const section = page.getByRole('region', { name: 'On your list' });
    await section.getByText('a farm').waitFor();
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).click();
    await section.getByText('It is not on your list.').waitFor();
    await page.keyboard.press('w');
    await page.getByRole('dialog').getByRole('button', { name: 'Watch for 30 days' }).click();
    await section.getByText('watch', { exact: true }).waitFor();
    await section.getByRole('button', { name: 'Remove' }).click();
    await section.getByText('It is not on your list.').waitFor();
    await page.keyboard.press('z');
    await section.getByText('watch', { exact: true }).waitFor();
    expectClean(page);
  });

  test('warns of a fingerprint that many devices share, before and after the write', async () => {
    const fingerprint = bodies.get(`/v1/fingerprints/${deviceHash(FARM)}`) as { readonly day: object };
    const common = { ...fingerprint, common: true, day: { ...fingerprint.day, networks: 412 } };
    const subject = { kind: 'fingerprint', value: deviceHash(FARM) };
    const entry = { ...subject, fingerprint_hash: subject.value, action: 'allow', note: null, expires_at: null };
    const page = await harness.open(DEVICE, {
      override: (path, _query, method) => {
        if (path.startsWith('/v1/fingerprints/')) return { body: common };
        if (path === '/v1/lists' && method === 'POST')
          return { status: 201, body: { ...entry, warning: 'common_fingerprint', networks_24h: 412 } };
        return null;
      },
    });
    await page.getByText('412 networks in 24 h').waitFor();
    await page.keyboard.press('a');
    await page.getByRole('dialog').getByText('412 networks in 24 h').waitFor();
    await page.getByRole('button', { name: 'Allow permanently' }).click();
    await page.getByText('Warning: it came from 412 networks in 24 h').waitFor();
    await expectAccessible(page);
  });

  test('asks for a value where the URL has none', async () => {
    const page = await harness.open('/dashboard/links');
    await page.getByLabel('Kind').selectOption('ip');
    await page.getByRole('textbox', { name: 'Value' }).fill('89.160.20.112');
    await expectReadable(page);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('heading', { level: 1, name: 'Address 89.160.20.112' }).waitFor();
    await page.getByRole('region', { name: 'Time line' }).waitFor();
    expectClean(page);
  });

  test('says what links a decision when there is none, and why an unknown kind is refused', async () => {
    const page = await harness.open('/dashboard/links/entity.email/nobody%40shop.example');
    await page.getByText('No decision with this email').waitFor();
    await page.getByText('"entity_keys"').waitFor();
    await expectAccessible(page);
    await page.goto(`${harness.api.url}/dashboard/links/nonsense/x`);
    await page.getByRole('alert').getByText('invalid_request').waitFor();
    await page.getByRole('alert').getByText(/^req_/).waitFor();
    await expectAccessible(page);
    expectClean(page);
  });

  test('shows hostile text as text', async () => {
    const page = await harness.open(DEVICE, {
      override: (path) => {
        const body = bodies.get(path);
        return body === undefined || path.startsWith('/v1/fingerprints') ? null : { body: hostileCopy(body) };
      },
    });
    await page.getByText('⟨U+202E⟩').first().waitFor();
    expect(await page.locator('img').count()).toBe(0);
    await expectReadable(page);
    expectClean(page);
  });
});
