import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  expectWholeWords,
  problemBody,
  sharedHarness,
  type Harness,
} from '../support/dashboard-harness.ts';
import { makeFlagged, type MadeDecision } from '../support/dashboard-rows.ts';

const SECRET = 'wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY';

describe('What a decision keeps, and where records go', () => {
  let harness: Harness;
  let receiver: Server;
  let one: MadeDecision;
  const received: string[] = [];
  beforeAll(async () => {
    receiver = createServer((request, response) => {
      received.push(request.url ?? '');
      request.resume().on('end', () => response.end());
    });
    await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
    harness = await sharedHarness();
    one = await makeFlagged(harness.api);
  });
  afterAll(async () => {
    receiver.closeAllConnections();
    await new Promise((done) => receiver.close(done));
  });

  test('A decision shows what its token said beside what the server saw, and can be simulated again, by keyboard', async () => {
    const page = await harness.open(`/dashboard/decisions/${one.request_id}`);
    const signals = page.getByRole('region', { name: 'Token and server' });
    await signals.getByRole('row', { name: 'Automation – a headless browser' }).waitFor();
    await signals.getByRole('row', { name: /^Token – a text that is not the collector/ }).waitFor();
    await signals.getByText(/^Headless browser: /).waitFor();
    await expectAccessible(page);
    await expectWholeWords(signals);
    await page.setViewportSize({ width: 390, height: 844 });
    await expectWholeWords(signals);
    await page.setViewportSize({ width: 1_280, height: 800 });
    await page.keyboard.press('s');
    const rebuilt = page.getByRole('region', { name: 'Rebuilt request' });
    await rebuilt.getByRole('row', { name: /^session_token stand-in/ }).waitFor();
    await rebuilt.getByRole('row', { name: /^entity_keys.email unknown Only a hash is kept/ }).waitFor();
    await rebuilt.getByRole('row', { name: /^ip as sent/ }).waitFor();
    await expectWholeWords(rebuilt.getByRole('table'));
    const body = JSON.parse(await page.getByLabel('Body').inputValue()) as Record<string, unknown>;
    expect(body).toMatchObject({
      event_type: 'login',
      session_token: `rebuilt-${one.request_id}`,
      url: '/login',
      user_agent: expect.stringContaining('HeadlessChrome') as string,
    });
    expect(body).not.toHaveProperty('entity_keys');
    await expectAccessible(page);
    await page.getByLabel('Body').focus();
    await page.keyboard.press('Control+Enter');
    await page.getByText('simulated: nothing was counted or stored').waitFor();
    await page.getByRole('link', { name: 'device_headless' }).waitFor();
    // A preset takes its place, and the way back brings the rebuilt request again.
    await page.getByRole('link', { name: 'Tor' }).click();
    await rebuilt.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByLabel('Address', { exact: true }).inputValue()).toBe('185.220.101.1');
    await page.goBack();
    await rebuilt.waitFor();
    await expect.poll(() => page.getByLabel('Body').inputValue()).toContain(`rebuilt-${one.request_id}`);
    expectClean(page);
  });

  test('A request of an unknown decision is not rebuilt, and the console says why', async () => {
    const page = await harness.open('/dashboard/try?from=req_01M7XWJVNGTMWB6Q2TT84ZKPK0', {
      width: 320,
      theme: 'dark',
    });
    await page.getByText('not_found').first().waitFor();
    await expectAccessible(page);
    await expectNoSideScroll(page);
    await page.getByRole('link', { name: 'Leave it' }).click();
    await page.getByRole('heading', { name: 'Rebuilt request' }).waitFor({ state: 'detached' });
    await expect.poll(() => page.getByLabel('E-mail').inputValue()).toBe('anna@example.com');
    expectClean(page);
  });

  test('Records are delivered to a webhook by the form, and its new secret is shown once', async () => {
    const page = await harness.open('/dashboard/extractions?c=openlibrary');
    await page.getByLabel('query', { exact: true }).fill('3 books');
    await page.getByLabel('The records are').selectOption('webhook');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('This is required.').waitFor();
    await expectAccessible(page);
    const { port } = receiver.address() as AddressInfo;
    await page.getByLabel('url', { exact: true }).fill(`http://127.0.0.1:${port}/records`);
    await page.getByText('The same as an API call').click();
    await expect.poll(() => page.getByText('"type":"webhook"').count()).toBe(1);
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: /shown once/ });
    const secret = await dialog.getByText(/^whsec_/).textContent();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    await expect.poll(() => received, { timeout: 20_000 }).toContain('/records');
    expect(await page.content()).not.toContain(secret ?? 'whsec_');
    await page.getByText(/sent to a webhook/).waitFor();
    expectClean(page);
  });

  test('Keys of an upload are masked, sent once, and are nowhere in the page afterwards, also if the start is refused', async () => {
    const bodies: string[] = [];
    const page = await harness.open('/dashboard/extractions?c=openlibrary', {
      override: (path, _query, method, body) => {
        if (path !== '/v1/extractions' || method !== 'POST') return null;
        bodies.push(body);
        const { status, body: problem } = problemBody(422, 'invalid_input', 'The request is not valid');
        const errors = [{ pointer: '/delivery/destination/bucket', message: 'There is no such bucket.' }];
        return { status, body: { ...problem, errors } };
      },
    });
    await page.getByLabel('query', { exact: true }).fill('3 books');
    await page.getByLabel('The records are').selectOption('s3');
    const key = page.getByLabel('secret access key');
    expect(await key.getAttribute('type')).toBe('password');
    await page.getByLabel('bucket').fill('my-bucket');
    await page.getByLabel('access key id', { exact: true }).fill('AKIAEXAMPLE');
    await key.fill(SECRET);
    await page.getByText('The same as an API call').click();
    const call = page.getByText('"secret_access_key"');
    expect(await call.textContent()).toContain(`"secret_access_key":"'"$SECRET_ACCESS_KEY"'"`);
    expect(await call.textContent()).not.toContain(SECRET);
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('There is no such bucket.', { exact: true }).waitFor();
    expect(bodies.map((body) => (JSON.parse(body) as { delivery: unknown }).delivery)).toEqual([
      {
        type: 'destination',
        destination: { kind: 's3', bucket: 'my-bucket', access_key_id: 'AKIAEXAMPLE', secret_access_key: SECRET },
      },
    ]);
    expect(await key.inputValue()).toBe('');
    expect(await page.getByLabel('bucket').inputValue()).toBe('my-bucket');
    const kept = await page.evaluate(() =>
      JSON.stringify([
        Object.entries(localStorage),
        Object.entries(sessionStorage),
        document.cookie,
        location.href,
        document.documentElement.outerHTML,
        [...document.querySelectorAll('input,textarea')].map((field) => (field as HTMLInputElement).value),
      ]),
    );
    expect(kept).not.toContain(SECRET);
    // It is not sent again without being typed again.
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('This is required.').waitFor();
    expect(bodies).toHaveLength(1);
    // Another delivery begins without what was typed for this one.
    await key.fill(SECRET);
    await page.getByLabel('The records are').selectOption('http_put');
    expect(await page.getByLabel('url', { exact: true }).getAttribute('type')).toBe('password');
    await page.getByLabel('The records are').selectOption('s3');
    expect(await key.inputValue()).toBe('');
    expectClean(page);
  });
});
