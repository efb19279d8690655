import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { bearer } from '../../support/manage.ts';
import { decide } from '../../support/requests.ts';
import { eventually, startReceiver, type Receiver } from '../../support/webhooks.ts';
import {
  expectAccessible,
  expectClean,
  expectReadable,
  HOSTILE,
  type Harness,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { shoot } from '../support/pictures.ts';

const PATH = '/dashboard/webhooks';
const AT = 1_795_262_400;

/** A webhook with a client's text wherever one may be. */
const HOSTILE_WEBHOOK = {
  id: 'wh_01M7XVS7J4Q33R1661RM2TZ4P2',
  url: `https://shop.example/${HOSTILE}`,
  event_types: ['REVIEW', 'BLOCK'],
  events: [],
  description: HOSTILE,
  disabled: false,
  filter: HOSTILE,
  filter_error: null,
  headers: { authorization: '****************' },
  format: 'standard',
  fields: 'event',
  secret: 'whsec_****************9Q8=',
  status: 'unhealthy',
  consecutive_failures: 10,
  unhealthy_since: AT,
  next_probe_at: AT * 2,
  last_success_at: AT - 3_600,
  last_failure_at: AT,
  created_at: AT - 7_200,
  updated_at: AT - 7_200,
};

const HOSTILE_DELIVERY = {
  id: 'dlv_01M7XVS7J4Q33R1661RM2TZ4P2',
  webhook_id: HOSTILE_WEBHOOK.id,
  url: HOSTILE_WEBHOOK.url,
  event: 'BLOCK',
  request_id: 'req_01M7XVS7J4Q33R1661RM2TZ4P2',
  status: 'failed',
  trigger: 'decision',
  attempt_count: 2,
  last_status_code: 503,
  last_error: 'http_status',
  created_at: AT,
  completed_at: AT + 3,
  next_attempt_at: null,
  attempts: [
    { attempt: 1, started_at: AT, duration_ms: 41, status_code: null, error: 'timeout' },
    { attempt: 2, started_at: AT + 2, duration_ms: 39, status_code: 503, error: 'http_status' },
  ],
  body: HOSTILE,
};

const pageOf = (data: readonly unknown[]) => ({ body: { data, has_more: false, next_cursor: null } });

function hostile(path: string): { body: unknown } | null {
  if (path === '/v1/webhooks') return pageOf([HOSTILE_WEBHOOK]);
  if (path === '/v1/webhooks/deliveries') return pageOf([HOSTILE_DELIVERY]);
  if (path.startsWith('/v1/webhooks/deliveries/')) return { body: HOSTILE_DELIVERY };
  return null;
}

describe('The page of webhooks', () => {
  let harness: Harness;
  let receiver: Receiver;
  beforeAll(async () => {
    [harness, receiver] = await Promise.all([sharedHarness(), startReceiver()]);
  });
  afterAll(() => receiver.close());

  async function create(page: Page, url: string): Promise<string> {
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('URL').fill(url);
    await page.getByLabel('Description').fill('to the fraud desk');
    await page.getByRole('button', { name: 'Create' }).click();
    const dialog = page.getByRole('dialog', { name: 'The secret, shown once' });
    const secret = (await dialog.getByRole('region', { name: 'Secret' }).textContent()) ?? '';
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    return secret.trim();
  }

  test('says what fills it, and creates, tests, pauses, rotates and deletes a webhook', async () => {
    const page = await harness.open(PATH);
    await page.getByText('No webhook yet').waitFor();
    await page.getByText('Nothing was sent yet', { exact: true }).waitFor();
    await shoot(page, 'webhooks-empty');
    await expectReadable(page);

    const secret = await create(page, receiver.url);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    await page.getByRole('link', { name: receiver.url }).click();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText(/The test was delivered in/).waitFor();
    await page.getByRole('link', { name: receiver.url }).waitFor();
    expect(new URL(page.url()).searchParams.get('webhook')).toMatch(/^wh_/);

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByLabel('The old secret expires').selectOption('3600');
    await page.getByRole('button', { name: 'Make a new secret' }).click();
    const dialog = page.getByRole('dialog', { name: 'The secret, shown once' });
    await dialog.getByText(/The old one signs as well until/).waitFor();
    await expectAccessible(page);
    await shoot(page, 'webhooks-secret');
    const fresh = ((await dialog.getByRole('region', { name: 'Secret' }).textContent()) ?? '').trim();
    expect(fresh).not.toBe(secret);
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No webhook yet').waitFor();
    expect(page.url()).not.toContain('wh_');
    expectClean(page);
  });

  test('shows the problem of a refused URL in the dialog, which stays open', async () => {
    const page = await harness.open(PATH);
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('URL').fill('http://10.0.0.1/');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog').getByText('blocked_url').waitFor();
    expectClean(page);
  });

  test('creates a webhook with a filter and a format, shows both, and the place of an error in the filter', async () => {
    const page = await harness.open(PATH);
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByLabel('Filter').fill('scor > 90');
    await page.getByLabel('Format').selectOption('slack');
    await page.getByRole('dialog').getByLabel('Headers').fill('Authorization: Bearer t');
    await page.getByLabel('Rule tripped').check();
    await expectAccessible(page);
    await shoot(page, 'webhooks-form');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog').getByText('There is no fact scor. Did you mean score?').waitFor();
    await page.getByLabel('Filter').fill('score > 90');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('link', { name: receiver.url }).click();
    await page.getByText('Slack: a message').waitFor();
    await page.getByText('score > 90').waitFor();
    await page.locator('dd').getByText('authorization', { exact: true }).waitFor();
    await page.locator('dd').getByText('Rule tripped', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText(/The test was delivered in/).waitFor();
    await shoot(page, 'webhooks-format');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No webhook yet').waitFor();
    expectClean(page);
  });

  test('lists failed deliveries with why, sends one and then all of them again', async () => {
    const { url, secretKey } = harness.api;
    const gone = await startReceiver();
    gone.answers(400);
    const made = await bearer(url, secretKey, 'POST', '/v1/webhooks', {
      url: gone.url,
      event_types: ['ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK'],
    });
    const id = String(made.json['id']);
    for (let n = 0; n < 3; n++) await decide(url, secretKey);
    await eventually('three failed deliveries', async () => {
      const { json } = await bearer(url, secretKey, 'GET', `/v1/webhooks/deliveries?webhook_id=${id}&status=failed`);
      return (json['data'] as unknown[]).length === 3 ? true : null;
    });
    const page = await harness.open(`${PATH}?webhook=${id}&status=failed`);
    const row = page.getByRole('row').filter({ hasText: '400: the status is not 2xx' }).first();
    await row.waitFor();
    await page
      .getByText(/3 failed in a row/)
      .first()
      .waitFor();
    await shoot(page, 'webhooks-failed');
    await expectAccessible(page);

    // By keys: the first row, its pane, and back to the list.
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: /^Delivery/ }).waitFor();
    await page.getByRole('region', { name: 'Body' }).waitFor();
    // Byte for byte what the receiver got.
    const text = await page.getByRole('region', { name: 'Body' }).textContent();
    expect(gone.arrivals.map(({ body }) => body.toString())).toContain(text);
    await expectAccessible(page);
    await shoot(page, 'webhooks-pane');
    await page.getByRole('button', { name: 'Send again', exact: true }).click();
    await page.getByText('sent again', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    expect(page.url()).not.toContain('delivery=');

    gone.answers(204);
    await page.getByRole('button', { name: 'Send failed again' }).click();
    await page.getByRole('button', { name: /^Send [1-3] again$/ }).click();
    await page.getByText(/^[1-3] of [1-3] sent again\. The list/).waitFor();
    await page.getByRole('button', { name: 'Close', exact: true }).last().click();
    await page.getByRole('link', { name: 'Delivered', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'Delivered' }).first().waitFor();
    // A second time there is nothing left to send.
    await page.getByRole('button', { name: 'Send failed again' }).click();
    await page.getByText('No failed delivery of that time').waitFor();
    expectClean(page);
    await bearer(url, secretKey, 'DELETE', `/v1/webhooks/${id}`);
    await gone.close();
  });

  test('says which signature fits and why the others do not, and sends the secret nowhere', async () => {
    const { url, secretKey } = harness.api;
    const before = receiver.arrivals.length;
    const made = await bearer(url, secretKey, 'POST', '/v1/webhooks', { url: receiver.url, event_types: ['BLOCK'] });
    const id = String(made.json['id']);
    const secret = String(made.json['secret']);
    await bearer(url, secretKey, 'POST', `/v1/webhooks/${id}/rotate`, { grace_seconds: 600 });
    await bearer(url, secretKey, 'POST', `/v1/webhooks/${id}/test`, {});
    const arrival = (await receiver.arrived(before + 1)).at(-1);
    const headers = ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'x-svc-webhook-signature']
      .map((name) => `${name}: ${String(arrival?.headers[name])}`)
      .join('\n');
    const body = arrival?.body.toString() ?? '';

    const page = await harness.open(PATH);
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
    const box = page.getByRole('region', { name: 'Verify a delivery' });
    await box.getByLabel('Headers').fill(headers);
    await box.getByLabel('Raw body').fill(body);
    await box.getByLabel('Secret').fill(secret);
    await box.getByRole('button', { name: 'Verify' }).click();
    // The new secret's signature comes first and does not match; the old one's matches, and so does the body's.
    await box.getByText(/It was made with another secret/).waitFor();
    await box.getByText('It matches the id, the time and the body.').waitFor();
    await box.getByText(/It matches the body\. It covers neither/).waitFor();
    await box.getByText(/within 300 s of now/).waitFor();
    await expectAccessible(page);
    await shoot(page, 'webhooks-verify');

    await box.getByLabel('Raw body').fill(JSON.stringify(JSON.parse(body), null, 2));
    await box.getByRole('button', { name: 'Verify' }).click();
    await box
      .getByText(/the body was parsed and serialised again/)
      .first()
      .waitFor();
    await box.getByLabel('Raw body').fill(`${body}\n`);
    await box.getByRole('button', { name: 'Verify' }).click();
    await box
      .getByText(/without the white space at its end/)
      .first()
      .waitFor();
    await box.getByLabel('Headers').fill(headers.replace(/webhook-timestamp: \d+/, 'webhook-timestamp: 1795262400'));
    await box.getByRole('button', { name: 'Verify' }).click();
    await box.getByText(/old\. That is fine here|ahead\. That is fine here/).waitFor();
    await box.getByLabel('Secret').fill('whsec_****************9Q8=');
    await box.getByRole('button', { name: 'Verify' }).click();
    await box.getByText(/This is the masked secret/).waitFor();
    expect(sent.filter((text) => text.includes(secret) || text.includes(encodeURIComponent(secret)))).toEqual([]);
    expectClean(page);
    await bearer(url, secretKey, 'DELETE', `/v1/webhooks/${id}`);
  });

  test('says in words why an endpoint is unhealthy, and shows hostile text as text', async () => {
    const page = await harness.open(`${PATH}?webhook=${HOSTILE_WEBHOOK.id}&delivery=${HOSTILE_DELIVERY.id}`, {
      override: hostile,
    });
    await page
      .getByText(/10 failed in a row since .* tried again at/)
      .first()
      .waitFor();
    await page.getByText('the response timed out').waitFor();
    await page.getByRole('region', { name: 'Body' }).waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('body').textContent()).toContain('⟨U+202E⟩');
    await expectReadable(page);
    await page.keyboard.press('Escape');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    await expectReadable(page);
    await shoot(page, 'webhooks-hostile');
    expectClean(page);
  });

  test('offers no write in a read-only dashboard', async () => {
    const body = {
      customer_id: 'cus_01KAS3T3KCSGQ9C3ZK8A4M1Q2V',
      name: 'Shop',
      key_prefix: 'sk_live_4f2a',
      created_at: AT,
      expires_at: AT * 2,
      read_only: true,
      secure: false,
    };
    const page = await harness.open(`${PATH}?webhook=${HOSTILE_WEBHOOK.id}&delivery=${HOSTILE_DELIVERY.id}`, {
      override: (path) => (path === '/session' ? { body } : hostile(path)),
    });
    await page.getByText('the response timed out').waitFor();
    const writes = page.getByRole('button', { name: /New webhook|Send|Edit|Pause|Rotate|Delete/ });
    expect(await writes.count()).toBe(0);
    await page.keyboard.press('n');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expectClean(page);
  });

  test('goes on past the newest deliveries when none of them is looked for', async () => {
    const page = await harness.open(`${PATH}?status=skipped`, {
      override: (path, query) => {
        if (path !== '/v1/webhooks/deliveries') return hostile(path);
        if (query.has('cursor')) return pageOf([{ ...HOSTILE_DELIVERY, status: 'skipped', last_error: 'unhealthy' }]);
        return { body: { data: [], has_more: true, next_cursor: 'c' } };
      },
    });
    await page.getByText('None among the newest deliveries').waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText(/not sent: the endpoint was unhealthy/).waitFor();
    await page.getByText('Deliveries are kept for 30 days, at most 10,000.', { exact: false }).waitFor();
    expectClean(page);
  });
});
