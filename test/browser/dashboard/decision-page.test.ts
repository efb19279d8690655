import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import {
  expectAccessible,
  expectClean,
  expectReadable,
  type Harness,
  type Override,
  problemBody,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { hostileCopy, makeFlagged, type MadeDecision } from '../support/dashboard-rows.ts';

interface Row {
  readonly occurred_at: number;
  readonly request_id: string;
}

describe('The page of one decision', () => {
  let harness: Harness;
  let one: MadeDecision;
  const session = 'session-of-the-page';

  const read = async <T>(path: string): Promise<T> =>
    JSON.parse((await bearer(harness.api.url, harness.api.secretKey, 'GET', path)).text) as T;

  beforeAll(async () => {
    harness = await sharedHarness();
    await makeFlagged(harness.api, { session_token: session, event_type: 'search' });
    one = await makeFlagged(harness.api, { session_token: session });
    await makeFlagged(harness.api);
  });

  test('has the score, reasons, links and deliveries of the decision', async () => {
    const page = await harness.open(`/dashboard/decisions/${one.request_id}`);
    await page.getByRole('heading', { level: 1, name: /^Decision req_/ }).waitFor();
    await page.getByRole('figure', { name: /^Score \d/ }).waitFor();
    await page.getByText('Without this:').first().waitFor();
    await page.getByText('1 other').first().waitFor();
    await page.getByText('No webhook is subscribed to it').waitFor();
    await expectReadable(page);
    expectClean(page);
  });

  test('shows the session in the order of time, and the newest decisions of a link', async () => {
    const page = await harness.open(`/dashboard/decisions/${one.request_id}`);
    const strip = page.getByRole('region', { name: 'Session' });
    await expect.poll(() => strip.getByRole('link').count()).toBe(2);
    expect(await strip.getByRole('link').nth(1).getAttribute('aria-current')).toBe('true');
    await page.getByRole('button', { name: 'Show the newest decisions of this email' }).click();
    await expect
      .poll(() =>
        page
          .getByRole('region', { name: 'Linked decisions' })
          .getByRole('link', { name: /Challenge|Review|Block|Watch/ })
          .count(),
      )
      .toBe(2);
    await expectAccessible(page);
  });

  test('asks with the blast radius before it blocks, for 30 days, and takes it back on request', async () => {
    const { fingerprint_hash: hash } = await read<{ fingerprint_hash: string }>(`/v1/decisions/${one.request_id}`);
    const page = await harness.open(`/dashboard/decisions/${one.request_id}`);
    await page.getByRole('button', { name: 'Block', exact: true }).waitFor();
    await page.keyboard.press('b');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('1 session', { exact: true }).first().waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Block for 30 days' }).click();
    await page.getByText('is on the list').waitFor();
    const entry = await read<{ action: string; expires_at: number }>(`/v1/lists/${hash}`);
    expect(entry.action).toBe('block');
    const days = (entry.expires_at - Date.now() / 1_000) / 86_400;
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThan(30.1);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('is as it was before').waitFor();
    expect((await bearer(harness.api.url, harness.api.secretKey, 'GET', `/v1/lists/${hash}`)).status).toBe(404);
    expectClean(page);
  });

  test('lists its address, network, user and e-mail domain, each with how many it hits before the click', async () => {
    const made = await makeFlagged(harness.api, { entity_keys: { email: 'anna@example.com', user_id: 'u-17' } });
    const path = `/decisions/${made.request_id}`;
    const kept = await read<{ ip: string; network: string }>(`/v1${path}`);
    const page = await harness.open(`/dashboard${path}`);
    const dialog = page.getByRole('dialog');
    const watch = dialog.getByRole('button', { name: 'Watch for 30 days' });
    // `written`: what a person writes, where decisions keep only a hash.
    const cases = [
      ['ip', kept.ip, null],
      ['network', kept.network, null],
      ['entity.user_id', null, 'u-17'],
      ['email', null, 'anna@example.com'],
      ['email_domain', null, 'example.com'],
    ] as const;
    for (const [kind, value, written] of cases) {
      await page.getByRole('button', { name: 'Watch', exact: true }).click();
      const what = dialog.getByRole('combobox', { name: 'What' });
      await what.selectOption(`${kind}:${value ?? ''}`);
      if (written !== null) {
        expect(await watch.isDisabled()).toBe(true);
        await dialog.getByRole('textbox', { name: 'Its value' }).fill(written);
      }
      const counted = kind === 'email_domain' ? /how many it hits is not known/ : /it occurred in [1-9]/;
      await dialog.getByText(counted).waitFor();
      await watch.click();
      await dialog.waitFor({ state: 'detached' });
      const entry = `/v1/lists/${kind}/${encodeURIComponent(value ?? written)}`;
      expect(await read(entry)).toMatchObject({ kind, action: 'watch' });
      await bearer(harness.api.url, harness.api.secretKey, 'DELETE', entry);
    }
    expectClean(page);
  });

  test('stays open with the problem when a write fails', async () => {
    const override: Override = (path, _query, method) =>
      path === '/v1/lists' && method === 'POST' ? problemBody(507, 'insufficient_storage', 'The disk is full') : null;
    const page = await harness.open(`/dashboard/decisions/${one.request_id}`, { override });
    await page.getByRole('button', { name: 'Watch', exact: true }).click();
    await page.getByRole('button', { name: 'Watch for 30 days' }).click();
    await page.getByRole('dialog').getByText('insufficient_storage').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expectClean(page);
  });

  test('labels it', async () => {
    const page = await harness.open(`/dashboard/decisions/${one.request_id}`);
    await page.getByRole('button', { name: 'It was fraud' }).click();
    await page.getByText('labelled fraud').waitFor();
    expect((await read<{ label: string }>(`/v1/decisions/${one.request_id}`)).label).toBe('fraud');
  });

  test('draws the way from the place before without requests to elsewhere', async () => {
    const row = await read<Row>(`/v1/decisions/${one.request_id}`);
    const berlin = { latitude: 52.5, longitude: 13.4, accuracy_km: 50 };
    const tokyo = { latitude: 35.7, longitude: 139.7, accuracy_km: 20 };
    const override: Override = (path, query) => {
      if (path === `/v1/decisions/${one.request_id}`) return { body: { ...row, location: tokyo, country: 'JP' } };
      if (path !== '/v1/decisions' || query.get('until') === null) return null;
      const before = {
        ...row,
        request_id: 'req_00000000000000000000000000',
        occurred_at: row.occurred_at - 3_600,
        location: berlin,
        country: 'DE',
      };
      return { body: { data: [before], has_more: false, next_cursor: null } };
    };
    const page = await harness.open(`/dashboard/decisions/${one.request_id}`, { override });
    const foreign: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(harness.api.url)) foreign.push(request.url());
    });
    await page.getByRole('img', { name: /^Map: Germany to Japan: 8,9\d\d km in 1 h, 8,9\d\d km\/h$/ }).waitFor();
    await expectReadable(page);
    expect(foreign).toEqual([]);
    expectClean(page);
  });

  test('shows hostile text in every field as text', async () => {
    const row = await read<Row>(`/v1/decisions/${one.request_id}`);
    const override: Override = (path) =>
      path === `/v1/decisions/${one.request_id}` ? { body: hostileCopy(row) } : null;
    const page = await harness.open(`/dashboard/decisions/${one.request_id}`, { override });
    await page.getByText('⟨U+202E⟩').first().waitFor();
    await page.getByText('⟨U+0007⟩').first().waitFor();
    expect(await page.locator('img, main script, main a[href^="javascript"]').count()).toBe(0);
    await expectReadable(page);
    expectClean(page);
  });
});
