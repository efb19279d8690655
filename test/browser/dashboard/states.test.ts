import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { collectorToken } from '../../support/visits.ts';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  type FakeResponse,
  HOSTILE,
  type Harness,
  type OpenOptions,
  type Override,
  problemBody,
  startHarness,
} from '../support/dashboard-harness.ts';
import { hostileCopy, makeCalm, makeFlagged } from '../support/dashboard-rows.ts';
import { deviceHash, FARM, seedTraffic } from '../support/seed-traffic.ts';

/**
 * Every page in every state that it can have: empty, error, no more in the light theme; loading, stale, too much in the dark one. The
 * pages' own files test both themes.
 */

type State = 'empty' | 'loading' | 'stale' | 'error' | 'no more' | 'too much';

/** A state, as the page must show it. */
interface Shown {
  readonly words: string | RegExp;
  /** Added to the path of the page. */
  readonly query?: string;
  /** The endpoint whose response makes the state; by default the main one. */
  readonly at?: string;
  /** By default the service's own response. */
  readonly response?: () => FakeResponse;
  /** What somebody does to bring the state about. */
  readonly act?: (page: Page) => Promise<void>;
  /** What leads out of a search that stopped. */
  readonly after?: string | RegExp;
}

interface PageCase {
  readonly path: () => string;
  /** The endpoint without which the page has nothing to show. */
  readonly main: () => string;
  /** Part of what the page shows when all is well. */
  readonly data: string | RegExp;
  readonly well?: () => FakeResponse;
  /** By default `Retry`. */
  readonly retry?: string;
  /** Makes the page load, if it does not by itself. */
  readonly start?: (page: Page) => Promise<void>;
  /** A text instead of a state: why the page cannot have it, or the file that tests it. */
  readonly states: Readonly<Record<Exclude<State, 'loading' | 'error' | 'stale'>, Shown | string>> & {
    readonly stale: StaleBy | string;
  };
}

/** How a page that has data asks again. */
type StaleBy = (page: Page) => Promise<void>;

const AT = 1_795_262_400;
const AS_OF = /As of \d\d:\d\d:\d\d.*\(Not now: unavailable\)/;
const SLOW_MS = 15_000;

const JOB = {
  id: 'ext_01M7XVS7J4Q33R1661RM2TZ4P2',
  status: 'succeeded',
  connector: 'hackernews',
  operation: 'search.posts',
  counts: { collected: 50, target: 50, pages: 3, errors: 0, duplicates: 0 },
  usage: { credits: 3, tier: 'basic' },
  request_id: 'req_01M7XVS7J4Q33R1661RM2TZ4P2',
  created_at: AT,
  started_at: AT,
  finished_at: AT + 9,
  expires_at: null,
  waiting_until: null,
  notes: [],
  delivery: { type: 'store', status: 'done' },
};
const CHANGE = {
  at: AT,
  actor: 'cli',
  kind: 'key.created',
  target: 'sk_live_4fQ2',
  before: null,
  after: { kind: 'secret' },
};

const pageOf = (data: readonly unknown[], hasMore = false): FakeResponse => ({
  body: { data, has_more: hasMore, next_cursor: hasMore ? 'cursor' : null },
});
const NO_ROWS = (): FakeResponse => pageOf([]);

/** The live switch asks again when it is turned on. */
const turnLive: StaleBy = async (page) => {
  await page.getByRole('switch', { name: 'Live' }).click();
  await page.getByRole('switch', { name: 'Live' }).click();
};

const raw = new Map<string, Record<string, unknown>>();
let flaggedId = '';

/** A body of the service with some fields replaced. */
const changed = (path: string, change: Readonly<Record<string, unknown>>): FakeResponse => ({
  body: { ...raw.get(path), ...change },
});
const rowsOf = (path: string): readonly unknown[] => (raw.get(path)?.['data'] ?? []) as readonly unknown[];

const CASES: Readonly<Record<string, PageCase>> = {
  overview: {
    path: () => '/dashboard',
    main: () => '/v1/stats',
    data: /^\d+ decisions/,
    states: {
      empty: { words: 'No rule fired', response: () => changed('/v1/stats', { points: [] }) },
      stale: turnLive,
      'no more': 'it shows the newest 20; all are on Decisions',
      'too much': {
        words: 'newest 100,000',
        at: '/v1/top',
        response: () => changed('/v1/top', { is_truncated: true, decisions: 100_000 }),
      },
    },
  },
  decisions: {
    path: () => '/dashboard/decisions',
    main: () => '/v1/decisions',
    data: /^\d+ loaded/,
    states: {
      empty: { words: 'No decision matches', response: NO_ROWS },
      stale: turnLive,
      'no more': { words: /^All \d+ rows\. Allow is kept for 24 h, everything else for 30 days/ },
      'too much': {
        words: '100,000 looked at, 3 found: narrow the range or go on.',
        response: () => pageOf(rowsOf('/v1/decisions').slice(0, 3), true),
        after: /^All 3 rows\./,
      },
    },
  },
  decision: {
    path: () => `/dashboard/decisions/${flaggedId}`,
    main: () => `/v1/decisions/${flaggedId}`,
    data: 'Without this:',
    states: {
      empty: {
        words: 'This decision is not in the log',
        response: () => problemBody(404, 'not_found', 'Not found'),
      },
      // A label makes the page read the decision again.
      stale: (page) => page.getByRole('button', { name: 'It was legitimate' }).click(),
      'no more': 'it is one decision',
      'too much': 'it is one decision',
    },
  },
  links: {
    path: () => `/dashboard/links/fingerprint/${deviceHash(FARM)}`,
    main: () => '/v1/links',
    data: 'Challenged',
    states: {
      empty: { words: 'No decision with this fingerprint', response: () => changed('/v1/links', { decisions: 0 }) },
      stale: turnLive,
      'no more': {
        words: /^All 36 rows\. Flagged decisions are kept for 30 days, others for 24 h\./,
        query: '?rows=all',
      },
      'too much': {
        words: 'the newest; there are older ones',
        response: () => changed('/v1/links', { truncated: true }),
      },
    },
  },
  review: {
    path: () => '/dashboard/review',
    main: () => '/v1/shadow-reviews',
    data: /^1 of 1\+?$/,
    // There are more rows, which the page reads at once: that request is the one that fails.
    well: () => pageOf(rowsOf('/v1/shadow-reviews').slice(0, 1), true),
    states: {
      empty: { words: 'Nothing waits for a verdict', response: NO_ROWS },
      stale: () => Promise.resolve(),
      'no more': {
        words: /Rows are kept for 30 days\.$/,
        response: () => pageOf(rowsOf('/v1/shadow-reviews').slice(0, 1)),
        act: async (page) => {
          await page.getByText('1 of 1', { exact: true }).waitFor();
          await page.keyboard.press('3');
          await page.getByText('That was all').waitFor();
        },
      },
      'too much': 'review-page.test.ts',
    },
  },
  lists: {
    path: () => '/dashboard/lists',
    main: () => '/v1/lists',
    data: 'a farm',
    states: {
      empty: { words: 'The list is empty', response: NO_ROWS },
      stale: turnLive,
      'no more': { words: /rows?\. Entries are kept until they end or are removed\.$/ },
      'too much': 'every page of entries is full',
    },
  },
  rules: {
    path: () => '/dashboard/rules',
    main: () => '/v1/policy',
    data: 'Sampled for review',
    states: {
      empty: { words: 'No rule matches', query: '?q=nothing' },
      stale: turnLive,
      'no more': 'all rules are loaded',
      'too much': {
        words: /over the newest 100,000 decisions/,
        at: '/v1/policy/rules',
        response: () =>
          changed('/v1/policy/rules', { examined: { decisions: 100_000, flagged: 9, since: 1, is_truncated: true } }),
      },
    },
  },
  webhooks: {
    path: () => '/dashboard/webhooks',
    main: () => '/v1/webhooks',
    data: /risk-events/,
    states: {
      empty: { words: 'No webhook yet', response: NO_ROWS },
      stale: turnLive,
      'no more': { words: /rows?\. A customer may have 20\.$/ },
      'too much': {
        words: 'None among the newest deliveries',
        query: '?status=skipped',
        at: '/v1/webhooks/deliveries',
        response: () => pageOf([], true),
        after: 'No such delivery',
      },
    },
  },
  extractions: {
    path: () => '/dashboard/extractions',
    main: () => '/v1/extractions',
    data: 'hackernews search.posts',
    well: () => pageOf([JOB]),
    states: {
      empty: { words: 'No extraction yet', response: NO_ROWS },
      stale: turnLive,
      'no more': {
        words: /^The only row\. Extractions and their records expire/,
        response: () => pageOf([JOB]),
      },
      'too much': {
        words: 'None among the newest extractions',
        query: '?status=failed',
        response: () => pageOf([], true),
        after: 'No such extraction',
      },
    },
  },
  try: {
    path: () => '/dashboard/try',
    main: () => '/v1/simulate',
    data: 'simulated: nothing was counted or stored',
    retry: 'Simulate',
    start: (page) => page.getByRole('button', { name: 'Simulate' }).click(),
    states: {
      empty: { words: 'Nothing was asked yet' },
      stale: 'an answer belongs to its request',
      'no more': 'it has no list',
      'too much': 'it has no search',
    },
  },
  keys: {
    path: () => '/dashboard/keys',
    main: () => '/v1/keys',
    data: /^yours$/,
    states: {
      empty: { words: 'No such key', response: NO_ROWS },
      stale: turnLive,
      'no more': { words: /rows?\. Revoked keys stay in the list\.$/ },
      'too much': 'its filter is the page’s own, over all keys',
    },
  },
  audit: {
    path: () => '/dashboard/audit',
    main: () => '/v1/audit',
    data: 'sk_live_4fQ2',
    well: () => pageOf([CHANGE]),
    states: {
      empty: { words: 'Nothing was changed yet', response: NO_ROWS },
      stale: turnLive,
      'no more': {
        words: 'The only row. Entries are kept for 400 days, at most 10,000.',
        response: () => pageOf([CHANGE]),
      },
      'too much': {
        words: '2,000 looked at, 0 found: narrow the range or go on.',
        query: '?kind=webhook.rotated',
        response: () => pageOf([], true),
        after: 'No such change',
      },
    },
  },
};

const ALL = Object.entries(CASES);

/** The pages that have one of the states of a table, with how it is shown. */
function having(state: 'empty' | 'no more' | 'too much'): readonly (readonly [string, PageCase, Shown])[] {
  return ALL.flatMap(([id, page]) => {
    const shown = page.states[state];
    return typeof shown === 'string' ? [] : [[id, page, shown] as const];
  });
}

const shows = (page: Page, words: string | RegExp): Locator => page.getByText(words).filter({ visible: true }).first();

let harness: Harness;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-policy-'));
  const file = join(folder, 'policy.json');
  writeFileSync(file, JSON.stringify({ sample_rate: 1 }));
  harness = await startHarness({ GATEHOUSE_POLICY_FILE: file, GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' });
});
afterAll(async () => {
  await harness.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function opened(path: string, options: OpenOptions, run: (page: Page) => Promise<void>): Promise<void> {
  const page = await harness.open(path, options);
  try {
    await run(page);
    expectClean(page);
  } finally {
    await page.context().close();
  }
}

/** axe finds nothing at the width of the page, and neither that width nor the one of a phone needs scrolling to the side. */
async function expectReadable(page: Page): Promise<void> {
  await expectNoSideScroll(page);
  await expectAccessible(page);
  await page.setViewportSize({ width: 320, height: 640 });
  await expectNoSideScroll(page);
}

const put = async (path: string, body: object): Promise<void> => {
  const { status, text } = await bearer(harness.api.url, harness.api.secretKey, 'POST', path, body);
  if (status !== 201) throw new Error(`${path}: ${status} ${text}`);
};
const putEntry = (): Promise<void> =>
  put('/v1/lists', { fingerprint_hash: deviceHash(FARM), action: 'watch', note: 'a farm' });
const putWebhook = (): Promise<void> =>
  put('/v1/webhooks', { url: 'http://127.0.0.1:9/risk-events', event_types: ['BLOCK'] });

// The first test of the file: it needs a service that nobody has asked for anything.
describe('The quick start', () => {
  test('ticks its four steps one by one as they succeed, and gives way to the overview', async () => {
    await opened('/dashboard', {}, async (page) => {
      const done = (title: string): Locator => page.getByRole('heading', { name: `${title} (done)` });
      await page.getByText('0 of 4 done').waitFor();
      await page.getByText(harness.api.secretKey.slice(0, 12)).first().waitFor();
      await expectAccessible(page);
      await makeCalm(harness.api);
      await page.getByText('1 of 4 done').waitFor();
      await done('Ask for the first decision').waitFor();
      const token = collectorToken('first', 'first-session', Math.floor(Date.now() / 1_000));
      await makeFlagged(harness.api, { session_token: token });
      await page.getByText('2 of 4 done').waitFor();
      await done('Send the first collector token').waitFor();
      await putEntry();
      await page.getByText('3 of 4 done').waitFor();
      await done('Put a fingerprint on a list').waitFor();
      await putWebhook();
      await page.getByText('4 of 4 done').waitFor();
      await done('Let your backend hear of decisions').waitFor();
      await expectReadable(page);
      await page.getByRole('button', { name: 'Show the overview' }).click();
      await page.getByRole('region', { name: 'Newest flagged' }).waitFor();
      await expectNoSideScroll(page);
    });
  });
});

describe('Each page', () => {
  beforeAll(async () => {
    const { ids } = await seedTraffic(harness.api);
    const { url, secretKey } = harness.api;
    // The first visit of the headless browser.
    flaggedId = ids[36] ?? '';
    const now = Math.floor(Date.now() / 1_000);
    const hash = deviceHash(FARM);
    // Alone, these tests have no quick start before them.
    const { json: webhooks } = await bearer(url, secretKey, 'GET', '/v1/webhooks');
    if ((webhooks['data'] as readonly unknown[]).length === 0) await Promise.all([putEntry(), putWebhook()]);
    for (const path of [
      `/v1/stats?from=${now - 3_600}&to=${now + 60}&step=60`,
      '/v1/top?by=ip&count=decisions',
      '/v1/decisions',
      `/v1/links?kind=fingerprint&value=${hash}`,
      '/v1/shadow-reviews?verdict=none&limit=20',
      '/v1/policy/rules',
    ]) {
      const { status, text, json } = await bearer(url, secretKey, 'GET', path);
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
      raw.set(path.split('?')[0] ?? '', json);
    }
  });

  test('has a place in the table of states', () => {
    const source = readFileSync(new URL('../../../src/web/dashboard/page-table.ts', import.meta.url), 'utf8');
    const ids = [...source.matchAll(/^ {4}id: '(\w+)'/gm)].map(([, id]) => id);
    expect(ids).toEqual(Object.keys(CASES));
  });

  /** Answers one endpoint; requests for rows after the newest one find none. */
  const answering =
    (endpoint: string, response: () => FakeResponse | null): Override =>
    (path, query) => {
      if (path !== endpoint) return null;
      const fake = response();
      return fake !== null && fake.status === undefined && query.has('after') ? NO_ROWS() : fake;
    };

  test.each(having('empty'))('says what fills it when it is empty: %s', async (_id, { path, main }, shown) => {
    const override = shown.response === undefined ? undefined : answering(shown.at ?? main(), shown.response);
    await opened(`${path()}${shown.query ?? ''}`, override === undefined ? {} : { override }, async (page) => {
      await shows(page, shown.words).waitFor();
      await expectReadable(page);
    });
  });

  test.each(ALL)('shows the size of what is loading: %s', async (_id, { path, main, start }) => {
    const override = answering(main(), () => ({ body: null, delayMs: SLOW_MS }));
    await opened(path(), { override, theme: 'dark' }, async (page) => {
      await start?.(page);
      await page.locator('main .skeleton-shown').first().waitFor();
      await expectReadable(page);
      expect(await page.locator('main .skeleton-shown[aria-busy="true"]').count()).toBeGreaterThan(0);
      expect(await page.getByRole('alert').count()).toBe(0);
    });
  });

  test.each(ALL)('shows an error with its code and request id, and loads again: %s', async (_id, one) => {
    let isDown = true;
    // 403 is not tried again by itself: the button is there until somebody presses it.
    const refusal = problemBody(403, 'internal_error', 'Something failed');
    const override = answering(one.main(), () => (isDown ? refusal : (one.well?.() ?? null)));
    await opened(one.path(), { override }, async (page) => {
      await one.start?.(page);
      const alert = page.getByRole('alert').filter({ hasText: 'Something failed' });
      await alert.getByText('internal_error').waitFor();
      await alert.getByText('req_OFTHETEST').waitFor();
      // Nothing waits any more.
      await expect.poll(() => page.locator('main .skeleton').count()).toBe(0);
      await expectReadable(page);
      isDown = false;
      const retry = page.getByRole('button', { name: one.retry ?? 'Retry' });
      await (one.retry === undefined ? alert.getByRole('button', { name: 'Retry' }) : retry).click();
      await shows(page, one.data).waitFor();
      await alert.waitFor({ state: 'detached' });
    });
  });

  const stale = ALL.flatMap(([id, one]) => {
    const { stale: again } = one.states;
    return typeof again === 'string' ? [] : [[id, one, again] as const];
  });
  test.each(stale)('keeps old data with their time when the service fails: %s', async (id, one, again) => {
    let isDown = false;
    let calls = 0;
    const override = answering(one.main(), () => {
      calls++;
      // The page of reviews asks for more at once.
      if (isDown || (id === 'review' && calls > 1)) return problemBody(503, 'unavailable', 'Not now');
      return one.well?.() ?? null;
    });
    await opened(one.path(), { override, theme: 'dark' }, async (page) => {
      await shows(page, one.data).waitFor();
      isDown = true;
      await again(page);
      await shows(page, AS_OF).waitFor();
      // Only what somebody asked for, more rows, is not tried again by itself.
      if (id !== 'review') await shows(page, /retrying in \d+ s/).waitFor();
      await shows(page, one.data).waitFor();
      await expectReadable(page);
      await shows(page, one.data).waitFor();
      expect(await page.getByRole('button', { name: 'Retry now' }).first().isVisible()).toBe(true);
    });
  });

  test.each(having('no more'))('says at its end how long rows are kept: %s', async (_id, { path, main }, shown) => {
    const override = shown.response === undefined ? undefined : answering(main(), shown.response);
    await opened(`${path()}${shown.query ?? ''}`, override === undefined ? {} : { override }, async (page) => {
      await shown.act?.(page);
      await shows(page, shown.words).waitFor();
      await expectReadable(page);
    });
  });

  test.each(having('too much'))('says when not everything was looked at: %s', async (_id, { path, main }, shown) => {
    let isOver = false;
    const { response, at = main() } = shown;
    const override: Override = (...call) => {
      if (call[0] === at && isOver && call[1].has('cursor')) return NO_ROWS();
      return answering(at, () => response?.() ?? null)(...call);
    };
    await opened(`${path()}${shown.query ?? ''}`, { override, theme: 'dark' }, async (page) => {
      await shows(page, shown.words).waitFor();
      await expectReadable(page);
      if (shown.after === undefined) return;
      isOver = true;
      await page.getByRole('button', { name: 'Go on' }).click();
      await shows(page, shown.after).waitFor();
    });
  });

  test('names the counts of rules that failed, with the rules and the other counts beside them', async () => {
    let isDown = true;
    const override: Override = (path, query) => {
      const days = (Number(query.get('to')) - Number(query.get('from'))) / 86_400;
      return path === '/v1/policy/rules' && days < 2 && isDown ? problemBody(403, 'internal_error', 'No counts') : null;
    };
    await opened('/dashboard/rules', { override }, async (page) => {
      const alert = page.getByRole('alert').filter({ hasText: 'No counts' });
      await alert.getByText('req_OFTHETEST').waitFor();
      await page.getByRole('table', { name: 'Rules' }).waitFor();
      isDown = false;
      await alert.getByRole('button', { name: 'Retry' }).click();
      await alert.waitFor({ state: 'detached' });
      expect(await page.getByText('…', { exact: true }).count()).toBe(0);
    });
  });

  test('shows hostile text as text: overview', async () => {
    const [point] = (raw.get('/v1/stats')?.['points'] ?? []) as readonly object[];
    const layer = { state: 'broken', version: HOSTILE, detail: HOSTILE };
    const layers = { [HOSTILE]: layer, model: layer };
    const bodies: Readonly<Record<string, unknown>> = {
      '/v1/stats': {
        ...raw.get('/v1/stats'),
        points: [{ ...point, reasons: { [HOSTILE]: 5 }, refusals: { [HOSTILE]: 3 } }],
      },
      '/v1/decisions': hostileCopy(raw.get('/v1/decisions')),
      '/v1/top': hostileCopy(raw.get('/v1/top')),
      '/readyz': { status: 'degraded', version: HOSTILE, node: HOSTILE, layers },
    };
    const override: Override = (path) => (path in bodies ? { body: bodies[path] } : null);
    await opened('/dashboard', { override }, async (page) => {
      for (const region of ['Top reasons', 'Refusals', 'Newest flagged', 'Addresses with most identities'])
        await page.getByRole('region', { name: region }).getByText('<img src=x').first().waitFor();
      await page.locator('.health').getByText('⟨U+0007⟩').first().waitFor();
      await expectReadable(page);
      expect(await page.locator('img, main script, main a[href^="javascript"]').count()).toBe(0);
    });
  });

  const whole = (one: PageCase): OpenOptions => {
    const { well } = one;
    return well === undefined ? {} : { override: answering(one.main(), well) };
  };

  test.each(ALL)(
    'can be read in forced colours, where decisions and states differ by more than colour: %s',
    async (_id, one) => {
      await opened(one.path(), whole(one), async (page) => {
        await page.emulateMedia({ forcedColors: 'active' });
        await one.start?.(page);
        await shows(page, one.data).waitFor();
        expect(await page.evaluate(() => matchMedia('(forced-colors: active)').matches)).toBe(true);
        expect(await page.evaluate(faintMarks)).toEqual([]);
        await page.emulateMedia({ forcedColors: 'active', colorScheme: 'dark' });
        expect(await page.evaluate(faintMarks)).toEqual([]);
      });
    },
  );

  test('outlines what is loading in forced colours, where backgrounds are taken away', async () => {
    const override = answering('/v1/lists', () => ({ body: null, delayMs: SLOW_MS }));
    await opened('/dashboard/lists', { override }, async (page) => {
      await page.emulateMedia({ forcedColors: 'active' });
      const part = page.locator('main .skeleton-shown .skeleton-part').first();
      await part.waitFor();
      expect(await part.evaluate((element) => getComputedStyle(element).borderTopStyle)).toBe('solid');
    });
  });

  // 1,280 by 800 pixels at 200 % zoom.
  test.each(ALL)('can be read at twice the size: %s', async (_id, one) => {
    await opened(one.path(), { ...whole(one), width: 640, height: 400 }, async (page) => {
      await one.start?.(page);
      await shows(page, one.data).waitFor();
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expectNoSideScroll(page);
    });
  });
});

/**
 * Runs in the page. Returns the marks of decisions and states that somebody could miss: without a word, with a sign that is nearly the
 * colour of what is behind it, and decisions with the sign of another one.
 */
function faintMarks(): string[] {
  const numbers = (colour: string): number[] => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (colour: string): number => {
    const [r = 0, g = 0, b = 0] = numbers(colour).map((part) => {
      const share = part / 255;
      return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.212_6 * r + 0.715_2 * g + 0.072_2 * b;
  };
  const behind = (element: Element | null): string => {
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      if ((numbers(backgroundColor)[3] ?? 1) > 0) return backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  const contrast = (a: string, b: string): number => {
    const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const faint: string[] = [];
  const words = new Map<string, string>();
  for (const mark of document.querySelectorAll('main .badge, main .state-mark, main .tag')) {
    const text = (mark.firstElementChild?.nextSibling?.textContent ?? mark.textContent).trim();
    if (text === '') faint.push(`no word: ${mark.outerHTML.slice(0, 120)}`);
    const back = behind(mark);
    const ofText = contrast(getComputedStyle(mark).color, back);
    if (ofText < 4.5) faint.push(`${text}: text ${ofText.toFixed(1)}`);
    const path = mark.querySelector('svg path');
    if (path === null) continue;
    const { fill, stroke } = getComputedStyle(path);
    const ofSign = contrast(fill === 'none' ? stroke : fill, back);
    if (ofSign < 3) faint.push(`${text}: sign ${ofSign.toFixed(1)} (${fill}, ${stroke} on ${back})`);
    if (!mark.classList.contains('badge')) continue;
    const shape = path.getAttribute('d') ?? '';
    if ((words.get(shape) ?? text) !== text) faint.push(`${text}: the sign of ${words.get(shape)}`);
    words.set(shape, text);
  }
  return faint;
}
