import type { Page } from 'playwright-core';
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
    await page.getByText('Did you mean attributes.amount?').waitFor();
    await page.getByRole('button', { name: 'Line 2, column 2' }).click();
    const place = await condition(page).evaluate((area) => (area as HTMLTextAreaElement).selectionStart);
    expect(place).toBe(28);
    expect(await button(page, 'Observe').isDisabled()).toBe(true);
    await expectReadable(page);
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
