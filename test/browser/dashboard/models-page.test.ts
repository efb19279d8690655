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

  test('shows the breaker, gates, intervals and what is missing', async () => {
    const page = await harness.open(PATH, { override: answers() });
    await page.getByText('it alone stopped 61 of 4,200 decisions').waitFor();
    await page.getByText('67 % (33 % to 68 %)').first().waitFor();
    await page.getByText('fraud sessions 128 of 150').waitFor();
    const gates = page.getByRole('list', { name: 'Gates of a promotion' });
    expect(await gates.getByRole('listitem').allTextContents()).toEqual([
      expect.stringContaining('3.4 of 3 days'),
      expect.stringContaining('trained on under 500 known fraud sessions'),
    ]);
    await expectAccessible(page);
    await shoot(page, 'models');
    expectClean(page);
  });

  test('chooses a model after a question, and shows why it may not', async () => {
    const sent: unknown[] = [];
    const answered = answers();
    const override: Override = (path, query, method, body) => {
      if (path !== '/v1/models/choose') return answered(path, query, method, body);
      sent.push(JSON.parse(body));
      const detail = 'The installation has several customers: use gatehouse models.';
      return sent.length < 3
        ? { body: { id: null, previous: null } }
        : { status: 403, body: { code: 'key_not_allowed', title: 'Not allowed', status: 403, detail } };
    };
    const page = await harness.open(PATH, { override });
    for (const word of ['Promote', 'Run beside', 'Resume']) {
      await page.getByRole('button', { name: word }).first().click();
      const question = page.getByRole('dialog', { name: `${word}?` });
      await question.waitFor();
      if (word === 'Promote') await expectAccessible(page);
      await question.getByRole('button', { name: word }).click();
      if (word !== 'Resume') await question.waitFor({ state: 'detached' });
    }
    await page.getByText('The installation has several customers').waitFor();
    await shoot(page, 'models-refused');
    expect(sent).toEqual([
      { action: 'promote', id: '20261120-000000' },
      { action: 'shadow', id: '20261113-000000' },
      { action: 'resume' },
    ]);
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
