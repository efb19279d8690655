import { beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { bearer, fingerprintOf } from '../../support/manage.ts';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  expectReadable,
  type Harness,
  problemBody,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { hostileCopy } from '../support/dashboard-rows.ts';
import { shoot } from '../support/pictures.ts';
import { deviceHash, FARM, seedTraffic } from '../support/seed-traffic.ts';

const DAY = 86_400;
const FARM_HASH = deviceHash(FARM);
const CALM_HASH = deviceHash('calm-1');
/** A client without a collector: its fingerprint is the hash of its token. */
const SCRIPT_HASH = fingerprintOf('script-1');
const UNSEEN = 'ab'.repeat(32);

interface Entry {
  readonly fingerprint_hash: string;
  readonly action: string;
  readonly note: string | null;
  readonly expires_at: number | null;
}

describe('The page of lists', () => {
  let harness: Harness;

  const put = async (entry: Partial<Entry>): Promise<void> => {
    const { status, text } = await bearer(harness.api.url, harness.api.secretKey, 'POST', '/v1/lists', entry);
    if (status > 201) throw new Error(text);
  };
  const entries = async (): Promise<readonly Entry[]> => {
    const { json } = await bearer(harness.api.url, harness.api.secretKey, 'GET', '/v1/lists');
    return json['data'] as readonly Entry[];
  };
  const clear = async (): Promise<void> => {
    for (const { fingerprint_hash: hash } of await entries())
      await bearer(harness.api.url, harness.api.secretKey, 'DELETE', `/v1/lists/${hash}`);
  };
  const actions = async (): Promise<Record<string, string>> =>
    Object.fromEntries((await entries()).map(({ fingerprint_hash: hash, action }) => [hash, action]));

  beforeAll(async () => {
    harness = await sharedHarness();
    await seedTraffic(harness.api);
  });

  test('says how to fill an empty list', async () => {
    const page = await harness.open('/dashboard/lists');
    await page.getByText('The list is empty').waitFor();
    await page.getByRole('link', { name: 'fingerprints of your flagged decisions' }).click();
    await page.getByRole('table', { name: 'Candidates' }).waitFor();
    expectClean(page);
  });

  test('has entries, candidates and an upload', async () => {
    await clear();
    await put({ fingerprint_hash: CALM_HASH, action: 'allow', note: 'our own phone' });
    await put({
      fingerprint_hash: UNSEEN,
      action: 'block',
      expires_at: Math.floor(Date.now() / 1_000) + 30 * DAY + 60,
    });
    const page = await harness.open('/dashboard/lists');
    await page.getByText('our own phone').waitFor();
    await page.getByText('of 1 identity').waitFor();
    await page.getByText('none yet').waitFor();
    await page.getByText('in 30 d').waitFor();
    await page.getByText('All 2 rows. Entries are kept until').waitFor();
    await expectReadable(page);
    await page.getByRole('link', { name: 'Candidates' }).click();
    await page.getByText('5 sessions of 12 identities').waitFor();
    await expectReadable(page);
    await page.getByRole('link', { name: 'Upload' }).click();
    await page.getByRole('textbox', { name: 'CSV' }).waitFor();
    await expectReadable(page);
    expectClean(page);
  });

  test('adds an entry by keys, after showing how many it hits', async () => {
    await clear();
    const page = await harness.open('/dashboard/lists');
    await page.getByText('The list is empty').waitFor();
    await page.keyboard.press('n');
    // Keys that are typed before the field has the focus are keys of the page.
    await page.locator('input:focus').waitFor();
    await page.keyboard.type('abc');
    const dialog = page.getByRole('dialog', { name: 'Add an entry' });
    await dialog.getByLabel('Kind').selectOption('fingerprint');
    await expectAccessible(page);
    await dialog.getByLabel('Value').fill(FARM_HASH);
    await page.keyboard.press('Enter');
    await page.getByText('12 identities').first().waitFor();
    await page.getByRole('button', { name: 'Block for 30 days' }).click();
    await page.getByRole('table', { name: 'Entries of the list' }).getByText('6661726d').waitFor();
    const [entry] = await entries();
    const endsIn = (entry?.expires_at ?? 0) - Date.now() / 1_000;
    expect([entry?.action, Math.round(endsIn / DAY)]).toEqual(['block', 30]);
    expectClean(page);
  });

  test('removes the entry of the row by a key, and puts back all of it', async () => {
    await clear();
    const expiresAt = Math.floor(Date.now() / 1_000) + DAY;
    await put({ fingerprint_hash: FARM_HASH, action: 'watch', note: 'seen twice', expires_at: expiresAt });
    const page = await harness.open('/dashboard/lists');
    await page.getByText('seen twice').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByText('The list is empty').waitFor();
    expect(await entries()).toEqual([]);
    await page.keyboard.press('z');
    await page.getByText('seen twice').waitFor();
    expect(await entries()).toMatchObject([
      { fingerprint_hash: FARM_HASH, action: 'watch', note: 'seen twice', expires_at: expiresAt },
    ]);
  });

  test('makes a named list, takes pasted values, and says which rules name it', async () => {
    const page = await harness.open('/dashboard/lists?tab=named');
    await page.getByText('There is no named list').waitFor();
    await page.getByRole('button', { name: 'New list' }).click();
    const dialog = page.getByRole('dialog', { name: 'New named list' });
    await dialog.getByLabel('Name').fill('partners');
    await dialog.getByLabel('Kind').selectOption('email_domain');
    await dialog.getByLabel('Note').fill('agreed with sales');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const pane = page.getByRole('complementary', { name: 'list.partners' });
    await pane.getByLabel('Values').fill('# partners\npartner.example\nFair.Example\nno domain\n');
    await pane.getByRole('button', { name: 'Add 3' }).click();
    await pane.getByText('2 items added, 1 value rejected.').waitFor();
    await pane.getByRole('table', { name: 'Items of the list' }).getByText('fair.example').waitFor();
    await expectReadable(page);
    await shoot(page, 'named-lists');
    await pane.getByRole('button', { name: 'Remove fair.example' }).click();
    await pane.getByText('1 item of the kind E-mail domain').waitFor();
    const lastChanges = pane.getByRole('table', { name: 'Last changes of the list' });
    await lastChanges.getByRole('row', { name: '+0 −1' }).getByRole('button', { name: 'Bring back' }).click();
    await page.getByRole('dialog', { name: 'Bring back the list' }).getByRole('button', { name: 'Bring back' }).click();
    await pane.getByText('2 items of the kind E-mail domain').waitFor();
    await lastChanges.getByRole('row', { name: '+2 −0' }).waitFor();
    const { secretKey, url } = harness.api;
    const rule = { when: 'email.domain in list.partners', weight: 0.1 };
    expect((await bearer(url, secretKey, 'PUT', '/v1/rules/own_partners', rule)).status).toBe(201);
    await page.reload();
    await pane.getByRole('link', { name: 'own_partners' }).waitFor();
    expect(await pane.getByRole('button', { name: 'Delete the list' }).isDisabled()).toBe(true);
    await page.setViewportSize({ width: 390, height: 844 });
    await expectNoSideScroll(page);
    await shoot(page, 'named-lists-phone');
    await page.goto(page.url().replace('list=partners', 'list='));
    await page.getByRole('table', { name: 'Named lists' }).waitFor();
    await shoot(page, 'named-lists-phone-table');
    expectClean(page);
    const asked = await harness.open('/dashboard/rules?view=own&own=new');
    await asked.getByLabel('Condition').fill('');
    await asked.getByLabel('Condition').pressSequentially('email.domain in list.pa');
    await asked.getByRole('option', { name: 'list.partners' }).waitFor();
    await asked.keyboard.press('Tab');
    expect(await asked.getByLabel('Condition').inputValue()).toBe('email.domain in list.partners');
    expect((await bearer(url, secretKey, 'DELETE', '/v1/rules/own_partners')).status).toBe(204);
    expect((await bearer(url, secretKey, 'DELETE', '/v1/named-lists/partners')).status).toBe(204);
  });

  test('marks an entry without hits for a day', async () => {
    const day = {
      decisions: 0,
      sessions: 0,
      identities: 0,
      addresses: 0,
      networks: 0,
      last_seen: null,
      is_truncated: false,
    };
    const old = Math.floor(Date.now() / 1_000) - 2 * DAY;
    const row = {
      kind: 'fingerprint',
      value: UNSEEN,
      action: 'block',
      note: null,
      created_at: old,
      updated_at: old,
      expires_at: null,
      day,
    };
    const page = await harness.open('/dashboard/lists', {
      override: (path) => (path === '/v1/lists' ? { body: { data: [row], has_more: false, next_cursor: null } } : null),
    });
    await page.getByText('no hits', { exact: true }).waitFor();
    await expectAccessible(page);
  });

  test('blocks a candidate by one key and filters by the URL', async () => {
    await clear();
    const page = await harness.open('/dashboard/lists?tab=candidates&decision=REVIEW');
    await page.getByText(SCRIPT_HASH.slice(0, 8)).waitFor();
    await expect.poll(() => page.locator('[data-row]').count()).toBe(1);
    await page.keyboard.press('j');
    await page.keyboard.press('b');
    await page.getByRole('button', { name: 'Block for 30 days' }).click();
    await page.getByRole('table', { name: 'Candidates' }).getByText('block', { exact: true }).waitFor();
    expect(await actions()).toEqual({ [SCRIPT_HASH]: 'block' });
    await page.getByLabel('Address, country or reason').fill('no such reason');
    await page.keyboard.press('Enter');
    await page.getByText('No fingerprint matches').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Clear the filters' }).click();
    await expect.poll(() => page.locator('[data-row]').count()).toBeGreaterThan(1);
    expectClean(page);
  });

  test('says what allowing all candidates would do before it does it, and takes it back', async () => {
    await clear();
    await put({ fingerprint_hash: FARM_HASH, action: 'block', note: 'a farm' });
    const page = await harness.open('/dashboard/lists?tab=candidates');
    await page.getByText('5 sessions of 12 identities').waitFor();
    await page.getByRole('button', { name: 'Preview for all rows' }).click();
    const dialog = page.getByRole('dialog', { name: 'Preview: allow all of these' });
    await dialog.getByText('2 new, 1 replace another entry (1 block → allow), 0 unchanged.').waitFor();
    await dialog.getByText('made 41 of your decisions').waitFor();
    await expectAccessible(page);
    expect(await actions()).toEqual({ [FARM_HASH]: 'block' });
    await dialog.getByRole('button', { name: 'Allow 3 entries' }).click();
    await page.getByText('3 entries written').waitFor();
    expect(Object.values(await actions())).toEqual(['allow', 'allow', 'allow']);
    await page.keyboard.press('z');
    await page.getByText('The list is as it was before').waitFor();
    expect(await entries()).toMatchObject([{ fingerprint_hash: FARM_HASH, action: 'block', note: 'a farm' }]);
    expectClean(page);
  });

  const upload = async (page: Page, text: string): Promise<void> => {
    await page.getByLabel('CSV').fill(text);
    await page.getByRole('button', { name: 'Check' }).click();
  };

  test('tries an upload, names the lines that cannot be read, and writes the others', async () => {
    await clear();
    await put({ fingerprint_hash: CALM_HASH, action: 'allow' });
    const page = await harness.open('/dashboard/lists?tab=upload');
    await upload(
      page,
      `fingerprint_hash,action,note\n${FARM_HASH},block,"a, b"\nzz,block,\n${CALM_HASH},block,\n${UNSEEN},watch,=1\n`,
    );
    await page.getByText('1 line cannot be read').waitFor();
    await page.getByText('Line 3: A fingerprint must have').waitFor();
    await page.getByText('2 new, 1 replace another entry (1 allow → block), 0 unchanged.').waitFor();
    await expectAccessible(page);
    await expectNoSideScroll(page);
    expect(await actions()).toEqual({ [CALM_HASH]: 'allow' });
    await page.getByRole('button', { name: 'Write 3 entries' }).click();
    await page.getByText('3 entries written').waitFor();
    expect(await actions()).toEqual({ [CALM_HASH]: 'block', [FARM_HASH]: 'block', [UNSEEN]: 'watch' });
    const written = await entries();
    expect(new Set(written.map(({ note }) => note))).toEqual(new Set(['=1', 'a, b', null]));
    expect(written.filter(({ expires_at: at }) => at === null).map(({ action }) => action)).toEqual(['watch']);
    expectClean(page);
  });

  test('uploads the file that it exports, with no change', async () => {
    await clear();
    await put({ fingerprint_hash: FARM_HASH, action: 'block', note: '=HYPERLINK("x")\n@next' });
    await put({ fingerprint_hash: CALM_HASH, action: 'allow' });
    const page = await harness.open('/dashboard/lists');
    await page.getByText('All 2 rows').waitFor();
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const path = await (await waiting).path();
    await page.getByRole('link', { name: 'Upload' }).click();
    await page.getByLabel('Choose a file').setInputFiles(path);
    // The farm's entry has no end: without this choice it would get one.
    await page.getByLabel('Blocks without expires_at end after').selectOption('Never');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('0 new, 0 replace another entry, 2 unchanged.').waitFor();
    expect(await page.getByRole('button', { name: 'Nothing would change' }).isDisabled()).toBe(true);
  });

  test('writes nothing when the service does not answer with a dry run', async () => {
    const bodies: string[] = [];
    const page = await harness.open('/dashboard/lists?tab=upload', {
      override: (path, query, _method, body) => {
        if (path !== '/v1/lists/batch') return null;
        bodies.push(`${query.toString()} ${body}`);
        return problemBody(500, 'internal_error', 'Internal error');
      },
    });
    await upload(page, `fingerprint_hash,action\n${FARM_HASH},block\n`);
    await page.getByRole('alert').getByText('req_OFTHETEST').waitFor();
    expect(bodies.map((body) => body.slice(0, 12))).toEqual(['dry_run=true']);
    await expectAccessible(page);
  });

  test('keeps a row that the service does not remove, and says why', async () => {
    await clear();
    await put({ fingerprint_hash: FARM_HASH, action: 'block', note: 'a farm' });
    let isFailing = false;
    const page = await harness.open('/dashboard/lists', {
      override: (path, _query, method) => {
        if (path === '/v1/lists' && isFailing) return problemBody(503, 'unavailable', 'Service unavailable');
        return path.startsWith('/v1/lists/') && method === 'DELETE' && isFailing
          ? problemBody(503, 'unavailable', 'Service unavailable')
          : null;
      },
    });
    await page.getByText('a farm').waitFor();
    isFailing = true;
    await page.getByRole('button', { name: 'Remove 6661726d' }).click();
    await page.getByText('Not removed: Service unavailable').waitFor();
    await page.getByText('a farm').waitFor();
    expectClean(page);
  });

  test('offers no write to somebody who may only read', async () => {
    await clear();
    await put({ fingerprint_hash: FARM_HASH, action: 'block', note: 'a farm' });
    const now = Math.floor(Date.now() / 1_000);
    const session = {
      customer_id: 'cus_01M84MC5NW56PVA62DH92AE7KN',
      name: 'demo',
      key_prefix: 'sk_live_4fQ2',
      created_at: now,
      expires_at: now + DAY,
      read_only: true,
      secure: false,
    };
    const page = await harness.open('/dashboard/lists', {
      override: (path) => (path === '/session' ? { body: session } : null),
    });
    await page.getByText('a farm').waitFor();
    expect(await page.getByRole('button', { name: 'Add' }).isDisabled()).toBe(true);
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.keyboard.press('n');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('link', { name: 'Candidates' }).click();
    await page.getByRole('table', { name: 'Candidates' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('b');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(
      await page
        .getByRole('button', { name: /^Block/ })
        .first()
        .isDisabled(),
    ).toBe(true);
    expect(await actions()).toEqual({ [FARM_HASH]: 'block' });
    await expectAccessible(page);
  });

  test('shows hostile text as text', async () => {
    await clear();
    await put({ fingerprint_hash: FARM_HASH, action: 'block', note: 'x' });
    const raw = new Map<string, unknown>();
    for (const path of ['/v1/lists', '/v1/lists/candidates']) {
      const { json } = await bearer(harness.api.url, harness.api.secretKey, 'GET', `${path}?usage=true&limit=50`);
      raw.set(path, hostileCopy(json));
    }
    const override = (path: string): { body: unknown } | null => (raw.has(path) ? { body: raw.get(path) } : null);
    const page = await harness.open('/dashboard/lists', { override });
    await page.getByText('⟨U+202E⟩').first().waitFor();
    await expectNoSideScroll(page);
    await page.getByRole('link', { name: 'Candidates' }).click();
    await page.getByRole('table', { name: 'Candidates' }).getByText('⟨U+202E⟩').first().waitFor();
    expect(await page.locator('img').count()).toBe(0);
    await expectReadable(page);
    expectClean(page);
  });
});
