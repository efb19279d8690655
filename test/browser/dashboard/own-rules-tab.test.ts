import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { decide, newcomer } from '../../support/requests.ts';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  expectReadable,
  type Harness,
  sharedHarness,
} from '../support/dashboard-harness.ts';

const WHEN = 'attributes.amount > 500';

describe("The customer's own rules", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await sharedHarness();
  });

  const read = (code: string) => bearer(harness.api.url, harness.api.secretKey, 'GET', `/v1/rules/${code}`);
  const pay = async (): Promise<unknown> => {
    const body = { ...newcomer(), attributes: { amount: 600 } };
    return (await decide(harness.api.url, harness.api.secretKey, body)).json['decision'];
  };
  const condition = (page: Page) => page.getByRole('textbox', { name: 'Condition' });
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const describes = (element: Locator) =>
    element.evaluate((one) => document.getElementById(one.getAttribute('aria-describedby') ?? '')?.textContent);

  test('are written, observed, enforced and deleted', async () => {
    const page = await harness.open('/dashboard/rules?view=own');
    await page.getByText('No rule of your own yet').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'New rule' }).click();
    await page.getByRole('textbox', { name: 'Code' }).fill('own_walk');
    await condition(page).pressSequentially('attributes.amo');
    await page.getByRole('option', { name: /attributes\.amount/ }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Tab');
    await condition(page).pressSequentially(' > 500');
    await page.getByText('It can be used').waitFor();
    expect(await condition(page).inputValue()).toBe(WHEN);
    await page.getByRole('combobox', { name: 'Effect while it fires' }).selectOption('BLOCK');
    await button(page, 'Observe').click();
    await page.getByText('The rule is observed').first().waitFor();
    await page.getByRole('complementary', { name: 'own_walk' }).waitFor();
    expect((await read('own_walk')).json).toMatchObject({ when: WHEN, decision: 'BLOCK', mode: 'observe' });
    expect(await pay()).not.toBe('BLOCK');

    await button(page, 'Enforce').click();
    await page.getByText('The rule is enforced').first().waitFor();
    expect(await pay()).toBe('BLOCK');
    const row = page.getByRole('row').filter({ hasText: 'own_walk' });
    await row.getByText('enforced').waitFor();

    await button(page, 'Only observe').click();
    await page.getByText('The rule is only observed').first().waitFor();
    expect(await pay()).not.toBe('BLOCK');

    await button(page, 'Delete').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No rule of your own yet').waitFor();
    expect((await read('own_walk')).status).toBe(404);
    expectClean(page);
  });

  test('show an error of the condition at its place', async () => {
    const page = await harness.open('/dashboard/rules?view=own&own=new');
    await condition(page).fill('event.type == "payment" &&\n attributes.amunt > 5');
    const fault = page.getByText(
      'Line 2, column 2: There is no fact attributes.amunt. Did you mean attributes.amount?',
    );
    await fault.waitFor();
    await page.getByRole('button', { name: 'Line 2, column 2' }).click();
    const place = await condition(page).evaluate((area) => (area as HTMLTextAreaElement).selectionStart);
    expect(place).toBe(28);
    await page.getByText('The rule needs a code first.').first().waitFor();
    await page.getByRole('textbox', { name: 'Code' }).fill('own_faulty');
    const reason = page.getByText('The condition has an error in line 2, column 2.');
    await reason.first().waitFor();
    for (const name of ['Observe', 'Enforce']) {
      expect(await button(page, name).isDisabled()).toBe(true);
      expect(await describes(button(page, name))).toBe(await reason.last().textContent());
    }
    await expectReadable(page);
    await expectAccessible(page);

    await button(page, 'Use attributes.amount').click();
    await page.getByText('It can be used').waitFor();
    expect(await condition(page).inputValue()).toBe('event.type == "payment" &&\n attributes.amount > 5');
    expect(await button(page, 'Observe').isDisabled()).toBe(false);
    expect(await reason.count()).toBe(0);
    expectClean(page);
  });

  test("keep another person's change: the second write is refused, and the rule can be read again", async () => {
    const put = (weight: number) =>
      bearer(harness.api.url, harness.api.secretKey, 'PUT', '/v1/rules/own_shared', { when: WHEN, weight });
    await put(0.1);
    const page = await harness.open('/dashboard/rules?view=own&own=own_shared');
    await page.getByRole('spinbutton', { name: 'Weight' }).fill('0.3');
    await put(0.2);
    await button(page, 'Save').click();
    await page.getByText('The rule has changed').waitFor();
    expect((await read('own_shared')).json).toMatchObject({ weight: 0.2 });
    await button(page, 'Read the rule again').click();
    await expect.poll(() => page.getByRole('spinbutton', { name: 'Weight' }).inputValue()).toBe('0.2');
    await expectReadable(page);
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await expectNoSideScroll(page);
    }
    expectClean(page);
  });
});

describe('A rule that the circuit breaker set back', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await sharedHarness();
  });

  test('is shown in the list and in its pane with what it did, and is enforced again from there', async () => {
    const { url, secretKey } = harness.api;
    const rule = { when: WHEN, decision: 'BLOCK', mode: 'enforce', predicted: { touched: 1, decisions: 1_000 } };
    await bearer(url, secretKey, 'PUT', '/v1/rules/own_tripped', rule);
    const read = async () => (await bearer(url, secretKey, 'GET', '/v1/rules/own_tripped')).json;
    // Each from another network, so that no built-in rule blocks first.
    const pay = (n: number) =>
      decide(url, secretKey, { ...newcomer(), ip: `81.${n}.7.9`, attributes: { amount: 600 } });
    for (let n = 0; n < 55; n++) await pay(n);
    await expect.poll(async () => (await read())['mode']).toBe('observe');
    const page = await harness.open('/dashboard/rules?view=own');
    const notice = page.getByRole('alert').filter({ hasText: 'own_tripped was set back to observe' });
    await notice.getByText('1 of 1,000 decisions (0.1 %) were predicted').waitFor();
    await page.getByRole('row').filter({ hasText: 'own_tripped' }).getByText('set back to observe').waitFor();
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await expectReadable(page);
      await expectNoSideScroll(page);
    }
    await page.setViewportSize({ width: 1_280, height: 800 });
    await notice.getByRole('link', { name: 'own_tripped' }).click();
    const pane = page.getByRole('complementary', { name: 'own_tripped' });
    await pane.getByRole('alert').getByText('press Enforce: what it did since is then its prediction').waitFor();
    await expectAccessible(page);
    await pay(55);
    await pane.getByRole('button', { name: 'Enforce', exact: true }).click();
    await page.getByText('The rule is enforced').first().waitFor();
    expect(await read()).toMatchObject({ mode: 'enforce', tripped_at: null });
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    await bearer(url, secretKey, 'DELETE', '/v1/rules/own_tripped');
    expectClean(page);
  });
});

describe('A backtest of an own rule', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await sharedHarness();
  });

  const ID = `bt_${'0'.repeat(26)}`;
  const none = { ALLOW: 0, ALLOW_WATCH: 0, SOFT_CHALLENGE: 0, REVIEW: 0, BLOCK: 0 };
  const empty = { ALLOW: none, ALLOW_WATCH: none, SOFT_CHALLENGE: none, REVIEW: none, BLOCK: none };
  const RESULT = {
    source: 'requests',
    facts_missing: [],
    events: 1_000,
    matrix: { ...empty, ALLOW: { ...none, ALLOW: 960, REVIEW: 38 }, BLOCK: { ...none, BLOCK: 2 } },
    by_label: { fraud: { ...empty, ALLOW: { ...none, ALLOW: 1, REVIEW: 3 } }, legitimate: empty },
    people_touched: 31,
    rules: [{ code: 'own_tried', touched: 41, decisions: 1_000 }],
    examples: [{ request_id: `req_${'0'.repeat(26)}`, before: 'ALLOW', after: 'REVIEW', reasons: ['own_tried'] }],
    recorded: { same: 990, different: 10 },
    log_from: '2026-11-20T00:00:00.000Z',
    damaged: [],
  };
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  /** A server that keeps requests, and answers each question about the backtest with the next of `jobs`. */
  async function openNew(jobs: readonly object[], logDays = 14, written: unknown[] = []): Promise<Page> {
    let asked = 0;
    const policy = (await bearer(harness.api.url, harness.api.secretKey, 'GET', '/v1/policy')).json;
    const page = await harness.open('/dashboard/rules?view=own&own=new', {
      override: (path, _query, method, body) => {
        if (path === '/v1/policy') return { body: { ...policy, log_requests_days: logDays } };
        if (path === '/v1/policy/backtest') return { status: 202, body: { id: ID, status: 'queued' } };
        if (path === `/v1/policy/backtest/${ID}`)
          return { body: { id: ID, progress: 0, replayed: 0, ...jobs[Math.min(asked++, jobs.length - 1)] } };
        if (path === `/v1/policy/backtest/${ID}/cancel`) return { body: { id: ID, status: 'cancelled' } };
        if (method === 'PUT') written.push(JSON.parse(body));
        return null;
      },
    });
    await page.getByRole('textbox', { name: 'Code' }).fill('own_tried');
    await page.getByRole('textbox', { name: 'Condition' }).fill(WHEN);
    await page.getByText('It can be used').waitFor();
    return page;
  }

  test('is started, followed and read, and what it found is the prediction of the rule that is enforced', async () => {
    const running = { status: 'running', progress: 0.4, replayed: 4_000 };
    const written: unknown[] = [];
    const page = await openNew([running, running, { status: 'succeeded', progress: 1, ...RESULT }], 14, written);
    await page.getByText('It was neither observed nor tried').waitFor();
    await button(page, 'Try it on the past').click();
    await page.getByText('4,000 requests decided again').waitFor();
    await page.getByText('It fires on 41 of 1,000 decisions (4.1 %)').waitFor();
    await page.getByText('38 of 1,000 decisions change, of 31 people').waitFor();
    await page.getByText('Labelled fraud: 3 of 4 decisions change').waitFor();
    await page.getByText('10 decisions would be made differently now').waitFor();
    await page.getByRole('link', { name: /Allow.*Review/ }).waitFor();
    const bottom = () =>
      page
        .getByRole('table')
        .last()
        .evaluate((table) => table.getBoundingClientRect().bottom);
    await expect.poll(bottom).toBeLessThanOrEqual(800);
    expect(await page.getByText('It was neither observed nor tried').count()).toBe(0);
    await expectAccessible(page);
    await expectReadable(page);
    await page.setViewportSize({ width: 390, height: 800 });
    await expectNoSideScroll(page);
    await button(page, 'Enforce').click();
    await page.getByText('The rule is enforced').first().waitFor();
    expect(written).toEqual([expect.objectContaining({ predicted: { touched: 41, decisions: 1_000 } })]);
    await bearer(harness.api.url, harness.api.secretKey, 'DELETE', '/v1/rules/own_tried');
    expectClean(page);
  });

  test('says that the rule was changed since, and predicts nothing for it', async () => {
    const page = await openNew([{ status: 'succeeded', progress: 1, ...RESULT }]);
    await button(page, 'Try it on the past').click();
    await page.getByText('It fires on 41').waitFor();
    await page.getByRole('textbox', { name: 'Condition' }).fill('attributes.amount > 1');
    await page.getByText(/This is the result of the version from .*: the rule was changed since/).waitFor();
    await page.getByText('It was neither observed nor tried').waitFor();
    expectClean(page);
  });

  test('says that its matrix is of another effect', async () => {
    const page = await openNew([{ status: 'succeeded', progress: 1, ...RESULT }]);
    await button(page, 'Try it on the past').click();
    await page.getByText('It fires on 41').waitFor();
    await page.getByRole('combobox', { name: 'Effect while it fires' }).selectOption('BLOCK');
    await page.getByText('the rule was changed since').waitFor();
    expect(await page.getByText('It was neither observed nor tried').count()).toBe(0);
  });

  test('goes on while its rule is enforced, is found again, and gives the rule its prediction afterwards', async () => {
    const jobs: object[] = [{ status: 'running', progress: 0.4, replayed: 4_000 }];
    const written: unknown[] = [];
    const page = await openNew(jobs, 14, written);
    await button(page, 'Try it on the past').click();
    await page.getByText('4,000 requests decided again').waitFor();
    await page.getByText('The backtest goes on with the rule as it was when it began').waitFor();
    await page.getByText('If you enforce it before the result, no circuit breaker watches it').waitFor();
    await button(page, 'Enforce').click();
    await page.getByText('The rule is enforced, without a circuit breaker').first().waitFor();
    await page.getByText('4,000 requests decided again').waitFor();
    await page.getByRole('link', { name: 'Close' }).click();
    await page.getByRole('row').filter({ hasText: 'own_tried' }).getByRole('link').first().click();
    await page.getByText('4,000 requests decided again').waitFor();
    jobs.push({ status: 'succeeded', progress: 1, ...RESULT });
    await page.getByText('It fires on 41 of 1,000 decisions').waitFor();
    await button(page, 'Save with the prediction').click();
    await page.getByText('Predicted: 41 of 1,000 decisions').waitFor();
    expect(written).toEqual([
      expect.not.objectContaining({ predicted: expect.anything() as unknown }),
      expect.objectContaining({ mode: 'enforce', predicted: { touched: 41, decisions: 1_000 } }),
    ]);
    await bearer(harness.api.url, harness.api.secretKey, 'DELETE', '/v1/rules/own_tried');
    expectClean(page);
  });

  test('can be cancelled, can fail, and needs the request log', async () => {
    const running = { status: 'running', progress: 0.2, replayed: 2_000 };
    const cancelled = await openNew([running, { status: 'cancelled', progress: 0.2 }]);
    await button(cancelled, 'Try it on the past').click();
    await button(cancelled, 'Cancel').click();
    await cancelled.getByText('It was cancelled before it began').waitFor();
    const failed = await openNew([{ status: 'failed', detail: 'no space left' }]);
    await button(failed, 'Try it on the past').click();
    await failed.getByText('It failed: no space left').waitFor();
    await expectReadable(failed);
    const off = await openNew([], 0);
    await off.getByText('"log_requests": "14d"').waitFor();
    expect(await button(off, 'Try it on the past').count()).toBe(0);
  });
});

describe('Names in requests that nothing reads', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await sharedHarness();
  });

  test('are named with what was probably meant', async () => {
    const body = { ...newcomer(), attributes: { amunt: 5 }, sesion_tokn: 'x' };
    const { url, secretKey } = harness.api;
    await decide(url, secretKey, body);
    // Score workers report names in intervals.
    await expect
      .poll(async () => (await bearer(url, secretKey, 'GET', '/v1/rules')).json)
      .toMatchObject({ undeclared_attributes: [{}], ignored_members: [{}] });
    const page = await harness.open('/dashboard/rules?view=own');
    await page.getByText('You send attributes.amunt, and nothing reads it. Did you mean attributes.amount?').waitFor();
    await page.getByText('You send sesion_tokn, and nothing reads it. Did you mean session_token?').waitFor();
    await expectAccessible(page);
    expectClean(page);
  });
});
