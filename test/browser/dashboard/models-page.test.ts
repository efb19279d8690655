import { beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  expectClean,
  expectReadable,
  HOSTILE,
  type Harness,
  type Override,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { COMPARISON_BODY, MODELS_BODY, ROWS_BODY } from '../support/page-states.ts';
import { shoot } from '../support/pictures.ts';

const PATH = '/dashboard/models';

/** Answers the page's three endpoints with changed members. */
function answers(models: object = {}, comparison: object = {}, rows: object = {}): Override {
  const bodies: Readonly<Record<string, object>> = {
    '/v1/models': { ...MODELS_BODY, ...models },
    '/v1/models/compare': { ...COMPARISON_BODY, ...comparison },
    '/v1/models/rows': { ...ROWS_BODY, ...rows },
  };
  return (path) => {
    const body = bodies[path];
    return body === undefined ? null : { body };
  };
}

describe('The page of models', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await sharedHarness();
  });

  test('shows the breaker, gates, intervals and what is missing, and commands to copy', async () => {
    const page = await harness.open(PATH, { override: answers() });
    await page.getByText('it alone stopped 61 of 4,200 decisions').waitFor();
    await page.getByText('67 % (33 % to 68 %)').first().waitFor();
    await page.getByText('fraud sessions 128 of 150').waitFor();
    const gates = page.getByRole('list', { name: 'Gates of a promotion' });
    expect(await gates.getByRole('listitem').allTextContents()).toEqual([
      expect.stringContaining('3.4 of 3 days'),
      expect.stringContaining('trained on under 500 known fraud sessions'),
    ]);
    const commands = await page.getByRole('region', { name: 'commands' }).textContent();
    expect(commands?.split('\n')).toEqual([
      'npx gatehouse models shadow 20261113-000000',
      'npx gatehouse models promote 20261120-000000',
      'npx gatehouse models rollback',
    ]);
    // Not every Chromium allows a page of a test to write to the clipboard.
    await page.evaluate(() =>
      Object.defineProperty(navigator.clipboard, 'writeText', {
        value: (text: string) => Promise.resolve(document.body.setAttribute('data-copied', text)),
      }),
    );
    await page.getByRole('button', { name: 'Copy commands' }).click();
    await page.getByText('Copied commands').waitFor();
    expect(await page.locator('body').getAttribute('data-copied')).toBe(commands);
    await expectAccessible(page);
    await shoot(page, 'models');
    expectClean(page);
  });

  test('says that all gates hold only if they do, and that a model that counts needs no command', async () => {
    const gates = COMPARISON_BODY.gates.map((gate) => ({ ...gate, holds: true }));
    const active = { ...MODELS_BODY.active, silent: null };
    const page = await harness.open(PATH, { override: answers({ active }, { gates }) });
    const section = page.getByRole('region', { name: 'Challenger against the active model' });
    await section.getByText('npx gatehouse models promote 20261120-000000').waitFor();
    expect(await page.getByText('models resume').count()).toBe(0);
    expectClean(page);
  });

  test('of an installation without models and decisions says what to do first', async () => {
    const page = await harness.open(PATH);
    await page.getByText('No candidate yet').waitFor();
    await page.getByText('No candidate runs beside the active model').waitFor();
    await page.getByText('none: the rules decide alone').waitFor();
    await expectReadable(page);
    await shoot(page, 'models-empty');
    expectClean(page);
  });

  test('Texts of files do nothing', async () => {
    const slot = { ...MODELS_BODY.active, version: HOSTILE, detail: HOSTILE };
    const [candidate] = MODELS_BODY.candidates;
    const gates = [{ name: HOSTILE, holds: false, detail: HOSTILE }];
    const models = { active: slot, challenger: slot, candidates: [{ ...candidate, id: HOSTILE, gates }] };
    const page = await harness.open(PATH, { override: answers(models, { gates }, { missing: [HOSTILE] }) });
    await page.getByText('only to compare').waitFor();
    await expectReadable(page);
    expectClean(page);
  });
});
