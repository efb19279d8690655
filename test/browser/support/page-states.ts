import type { Page } from 'playwright-core';
import { bearer } from '../../support/manage.ts';
import type { SharedServer } from '../../support/shared-server.ts';
import { problemBody } from './dashboard-harness.ts';
import type { FakeResponse, Override } from './page-pool.ts';
import { deviceHash, FARM, seedTraffic } from './seed-traffic.ts';

/** Every page of the dashboard, with the six states that it can have and how each comes about. */

export type TableState = 'empty' | 'no more' | 'too much';

/** A state, as the page must show it. */
export interface Shown {
  readonly words: string | RegExp;
  /** Added to the path of the page. */
  readonly query?: string;
  /** The endpoint whose response makes the state; by default the main one. */
  readonly at?: string;
  /** By default the service's own response. */
  readonly response?: () => FakeResponse;
  /** What somebody does to bring the state about. */
  readonly act?: (page: Page) => Promise<void>;
  /** What "Continue" leads to, after a search that stopped. */
  readonly after?: string | RegExp;
}

export interface PageCase {
  readonly path: string;
  /** The endpoint without which the page has nothing to show. */
  readonly main: string;
  /** Part of what the page shows when all is well. */
  readonly data: string | RegExp;
  readonly well?: () => FakeResponse;
  /** What loads again after an error; by default `Retry`. */
  readonly retry?: string;
  /** Makes the page load, if it does not by itself. */
  readonly start?: (page: Page) => Promise<void>;
  /** How a page that has data asks again. A text instead: why the page cannot have this state, or the file that tests it. */
  readonly stale: string | ((page: Page) => Promise<void>);
  readonly states: Readonly<Record<TableState, Shown | string>>;
}

const AT = 1_795_262_400;

/** Measured: with a third of the usual rows, axe-core takes a tenth less processor time for the pages. */
const FEW_IDENTITIES = 4;
const FARM_VISITS = 3 * FEW_IDENTITIES;

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
const WEBHOOK = {
  id: 'wh_01M7XVS7J4Q33R1661RM2TZ4P2',
  url: 'https://shop.example/risk-events',
  event_types: ['REVIEW', 'BLOCK'],
  events: ['rule.tripped'],
  description: 'to the fraud desk',
  disabled: false,
  filter: 'score > 90 && event_type == "payment"',
  filter_error: null,
  headers: { authorization: '****************' },
  format: 'standard',
  fields: 'event',
  retry: 'fast',
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
export const WATCH = {
  id: 'wat_01M7XVS7J4Q33R1661RM2TZ4P2',
  name: 'Prices of the shop',
  extraction: { connector: 'generic', operation: 'page.select', input: { url: 'https://shop.example/' } },
  every: '1h',
  cron: null,
  key: ['id'],
  compare: ['price'],
  emit: ['new', 'changed', 'gone'],
  paused: false,
  status: 'waiting',
  next_run_at: AT * 2,
  missed_runs: 2,
  baseline: true,
  running: null,
  last_run: {
    run: 9,
    due_at: AT,
    started_at: AT,
    extraction_id: JOB.id,
    finished_at: AT + 9,
    status: 'succeeded',
    reason: null,
    complete: true,
    notes: ['duplicate_key', 'selector_drift'],
    drifted_fields: ['price'],
    records: 120,
    new: 2,
    changed: 1,
    gone: 0,
  },
  created_at: AT - 7_200,
  updated_at: AT - 7_200,
};
const MODEL_SLOT = { version: 'forest one', state: 'ok', detail: '', refused: false, since: AT };
const MODEL_CANDIDATE = {
  id: '20261120-000000',
  version: '20261120-000000',
  format: 'forest',
  trained_at: AT,
  prior: 0.01,
  threshold: 0.4,
  budget: 0.002,
  shadow_only: true,
  gates: [
    { name: 'alarms', holds: true },
    { name: 'latest_frauds', holds: false },
  ],
  role: 'challenger',
};
export const MODELS_BODY = {
  active: { id: null, ...MODEL_SLOT, silent: { since: AT, alarms: 61, decisions: 4_200 } },
  challenger: { ...MODEL_SLOT, id: MODEL_CANDIDATE.id },
  candidates: [MODEL_CANDIDATE, { ...MODEL_CANDIDATE, id: '20261113-000000', role: null }],
};
const share = (part: number, of: number) => ({ part, of, share: part / of, low: part / of / 2, high: (part + 1) / of });
export const COMPARISON_BODY = {
  id: MODEL_CANDIDATE.id,
  since: AT,
  decisions: 100_000,
  sessions: 61_000,
  alarms: { active: share(4, 1_000), challenger: share(5, 1_000) },
  catch: { active: share(40, 60), challenger: share(48, 60) },
  catch_by_source: { review: { active: share(40, 60), challenger: share(48, 60) } },
  unlabelled: { sessions: 59_940, only_active: 12, only_challenger: 340 },
  gates: [
    { name: 'shadow_days', holds: true, detail: '3.4 of 3 days' },
    { name: 'training', holds: false, detail: 'trained on under 500 known fraud sessions' },
  ],
  is_truncated: true,
};
const labels = (fraud: number, legitimate: number) => ({ fraud, legitimate });
export const ROWS_BODY = {
  decisions: 100_000,
  rows: 24_310,
  days: 9,
  labels: { fraud: 210, legitimate: 380, none: 23_720, blocked: 140 },
  fraud_sessions: 128,
  honest_sessions: 301,
  by_source: [{ source: 'review', ages: { week: labels(40, 61), month: labels(70, 199), older: labels(0, 0) } }],
  missing: ['fraud sessions 128 of 150'],
  shadow_only: true,
  is_truncated: true,
};
const CRAWLER = { kind: 'crawler', count: 7, decisions: 7, challenged: 1, blocked: 2, worst: 'BLOCK', last_seen: AT };
const CRAWLERS = [
  { ...CRAWLER, id: 'Googlebot', verified: 'range', operator: 'google', purpose: 'search' },
  { ...CRAWLER, id: 'Googlebot', verified: 'none', operator: 'google', purpose: 'search' },
  { ...CRAWLER, id: 'GPTBot', verified: null, operator: 'openai', purpose: 'ai_training' },
];
const CHANGE = {
  at: AT,
  actor: 'cli',
  kind: 'key.created',
  target: 'sk_live_4fQ2',
  before: null,
  after: { kind: 'secret' },
};

export const rowsPage = (data: readonly unknown[], hasMore = false): FakeResponse => ({
  body: { data, has_more: hasMore, next_cursor: hasMore ? 'cursor' : null },
});
const noRows = (): FakeResponse => rowsPage([]);

/** Answers one endpoint; requests for rows after the newest one find none. */
export function answering(endpoint: string, response: (query: URLSearchParams) => FakeResponse | null): Override {
  return (path, query) => {
    if (path !== endpoint) return null;
    const fake = response(query);
    if (fake === null || fake.status !== undefined) return fake;
    return query.has('after') || isOfAnotherReason(fake.body, query.get('why')) ? noRows() : fake;
  };
}

/** Samples of the review queue are read reason by reason. */
function isOfAnotherReason(body: unknown, why: string | null): boolean {
  if (why === null || typeof body !== 'object' || body === null || !('data' in body)) return false;
  return Array.isArray(body.data) && !body.data.some((row: { readonly why?: unknown }) => row.why === why);
}

/** The live switch asks again when it is turned on. */
async function turnLive(page: Page): Promise<void> {
  await page.keyboard.press('.');
  await page.keyboard.press('.');
}

export interface SeededBodies {
  readonly flaggedId: string;
  /** Responses of the service by path. */
  readonly bodies: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

/** Makes traffic and a list entry, and reads what the pages read. */
export async function seedPages(api: SharedServer): Promise<SeededBodies> {
  const { url, secretKey } = api;
  const { ids } = await seedTraffic(api, FEW_IDENTITIES);
  const entry = { fingerprint_hash: deviceHash(FARM), action: 'watch', note: 'a farm' };
  const put = await bearer(url, secretKey, 'POST', '/v1/lists', entry);
  if (put.status !== 201) throw new Error(put.text);
  const now = Math.floor(Date.now() / 1_000);
  const bodies = new Map<string, Record<string, unknown>>();
  for (const path of [
    `/v1/stats?from=${now - 3_600}&to=${now + 60}&step=60`,
    '/v1/top?by=ip&count=decisions',
    '/v1/decisions',
    `/v1/links?kind=fingerprint&value=${deviceHash(FARM)}`,
    '/v1/shadow-reviews?verdict=none&limit=20',
    '/v1/policy/rules',
  ]) {
    const { status, text, json } = await bearer(url, secretKey, 'GET', path);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    bodies.set(path.split('?')[0] ?? '', json);
  }
  // The first visit of the headless browser.
  return { flaggedId: ids[FARM_VISITS] ?? '', bodies };
}

/** By the ids of `page-table.ts`, in its order. `:id` in paths is a flagged decision's. `seeded` is called when a response is needed. */
export function pageCases(seeded: () => SeededBodies): Readonly<Record<string, PageCase>> {
  const rowsOf = (path: string): readonly unknown[] =>
    (seeded().bodies.get(path)?.['data'] ?? []) as readonly unknown[];
  /** A response of the service with some fields replaced. */
  const changed = (path: string, change: Readonly<Record<string, unknown>>): FakeResponse => ({
    body: { ...seeded().bodies.get(path), ...change },
  });
  return {
    overview: {
      path: '/dashboard',
      main: '/v1/stats',
      data: /^\d+ decisions/,
      stale: turnLive,
      states: {
        empty: { words: 'No rule fired', response: () => changed('/v1/stats', { points: [] }) },
        'no more': 'it shows the newest 20; all are on Decisions',
        'too much': {
          words: 'newest 100,000',
          at: '/v1/top',
          response: () => changed('/v1/top', { is_truncated: true, decisions: 100_000 }),
        },
      },
    },
    decisions: {
      path: '/dashboard/decisions',
      main: '/v1/decisions',
      data: /^\d+ loaded/,
      stale: turnLive,
      states: {
        empty: { words: 'No decision matches', response: noRows },
        'no more': { words: /^All \d+ rows\. Allow decisions are kept for 24 h/ },
        'too much': {
          words: '100,000 rows searched, 3 found: narrow the range or continue.',
          response: () => rowsPage(rowsOf('/v1/decisions').slice(0, 3), true),
          after: /^All 3 rows\./,
        },
      },
    },
    decision: {
      path: '/dashboard/decisions/:id',
      main: '/v1/decisions/:id',
      data: 'Without this:',
      // A label makes the page read the decision again.
      stale: (page) => page.getByRole('button', { name: 'It was legitimate' }).click(),
      states: {
        empty: {
          words: 'This decision is not in the log',
          response: () => problemBody(404, 'not_found', 'Not found'),
        },
        'no more': 'it is one decision',
        'too much': 'it is one decision',
      },
    },
    links: {
      path: `/dashboard/links/fingerprint/${deviceHash(FARM)}`,
      main: '/v1/links',
      data: 'Challenged',
      stale: turnLive,
      states: {
        empty: { words: 'No decision with this fingerprint', response: () => changed('/v1/links', { decisions: 0 }) },
        'no more': { words: new RegExp(`^All ${FARM_VISITS} rows\\. `), query: '?rows=all' },
        'too much': {
          words: 'the newest; there are older ones',
          response: () => changed('/v1/links', { truncated: true }),
        },
      },
    },
    review: {
      path: '/dashboard/review?view=samples',
      main: '/v1/shadow-reviews',
      data: /^1 of 1\+?$/,
      // There are more rows, which the page reads at once: in the stale state that request fails.
      well: () => rowsPage(rowsOf('/v1/shadow-reviews').slice(0, 1), true),
      stale: () => Promise.resolve(),
      states: {
        empty: { words: 'Nothing waits for a verdict', response: noRows },
        'no more': {
          words: /Rows are kept for 30 days\.$/,
          response: () => rowsPage(rowsOf('/v1/shadow-reviews').slice(0, 1)),
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
      path: '/dashboard/lists',
      main: '/v1/lists',
      data: 'a farm',
      stale: turnLive,
      states: {
        empty: { words: 'The list is empty', response: noRows },
        'no more': { words: /row\. Entries are kept until/ },
        'too much': 'every page of entries is full',
      },
    },
    rules: {
      path: '/dashboard/rules',
      main: '/v1/policy',
      data: 'Sampled for review',
      stale: turnLive,
      states: {
        empty: { words: 'No rule matches', query: '?q=no-such-rule' },
        'no more': 'all rules are loaded',
        'too much': {
          words: /over the newest 100,000 decisions/,
          at: '/v1/policy/rules',
          response: () =>
            changed('/v1/policy/rules', { examined: { decisions: 100_000, flagged: 9, since: 1, is_truncated: true } }),
        },
      },
    },
    models: {
      path: '/dashboard/models',
      main: '/v1/models',
      data: 'only to compare',
      well: () => ({ body: MODELS_BODY }),
      stale: turnLive,
      states: {
        empty: { words: 'No candidate yet', response: () => ({ body: { ...MODELS_BODY, candidates: [] } }) },
        'no more': 'it shows all candidates',
        'too much': {
          words: 'of the newest 100,000 decisions',
          at: '/v1/models/rows',
          response: () => ({ body: ROWS_BODY }),
        },
      },
    },
    crawlers: {
      path: '/dashboard/crawlers',
      main: '/v1/top',
      data: 'Names itself',
      well: () => changed('/v1/top', { rows: CRAWLERS }),
      stale: turnLive,
      states: {
        empty: { words: 'No crawler in this range', response: () => changed('/v1/top', { rows: [] }) },
        'no more': 'it shows all',
        'too much': {
          words: 'of the newest 20,000 decisions',
          response: () => changed('/v1/top', { rows: CRAWLERS, is_truncated: true, decisions: 20_000 }),
        },
      },
    },
    webhooks: {
      path: '/dashboard/webhooks',
      main: '/v1/webhooks',
      data: /risk-events/,
      well: () => rowsPage([WEBHOOK]),
      stale: turnLive,
      states: {
        empty: { words: 'No webhook yet', response: noRows },
        'no more': { words: 'The only row. A customer may have 20.', response: () => rowsPage([WEBHOOK]) },
        'too much': {
          words: 'None among the newest deliveries',
          query: '?status=skipped',
          at: '/v1/webhooks/deliveries',
          response: () => rowsPage([], true),
          after: 'No such delivery',
        },
      },
    },
    extractions: {
      path: '/dashboard/extractions',
      main: '/v1/extractions',
      data: 'hackernews search.posts',
      well: () => rowsPage([JOB]),
      stale: turnLive,
      states: {
        empty: { words: 'No extraction yet', response: noRows },
        'no more': { words: /^The only row\. Extractions and their records/, response: () => rowsPage([JOB]) },
        'too much': {
          words: 'None among the newest extractions',
          query: '?status=failed',
          response: () => rowsPage([], true),
          after: 'No such extraction',
        },
      },
    },
    watches: {
      path: '/dashboard/watches',
      main: '/v1/watches',
      data: 'Prices of the shop',
      well: () => rowsPage([WATCH]),
      stale: turnLive,
      states: {
        empty: { words: 'No watch yet', response: noRows },
        'no more': { words: 'The only row. A customer may have 100.', response: () => rowsPage([WATCH]) },
        'too much': 'it shows all watches',
      },
    },
    try: {
      path: '/dashboard/try',
      main: '/v1/simulate',
      data: 'simulated: nothing was counted or stored',
      retry: 'Simulate',
      start: (page) => page.getByRole('button', { name: 'Simulate' }).click(),
      stale: 'an answer belongs to its request',
      states: {
        empty: { words: 'No request was sent yet' },
        'no more': 'it has no list',
        'too much': 'it has no search',
      },
    },
    keys: {
      path: '/dashboard/keys',
      main: '/v1/keys',
      data: /^yours$/,
      stale: turnLive,
      states: {
        empty: { words: 'No such key', response: noRows },
        'no more': { words: /rows?\. Revoked and expired keys stay in the list\.$/ },
        'too much': 'its filter is in the page, over all keys',
      },
    },
    audit: {
      path: '/dashboard/audit',
      main: '/v1/audit',
      data: 'sk_live_4fQ2',
      well: () => rowsPage([CHANGE]),
      stale: turnLive,
      states: {
        empty: { words: 'Nothing was changed yet', response: noRows },
        'no more': { words: /^The only row\. Entries are kept for 400 days/, response: () => rowsPage([CHANGE]) },
        'too much': {
          words: '2,000 rows searched, 0 found: narrow the range or continue.',
          query: '?kind=webhook.rotated',
          response: () => rowsPage([], true),
          after: 'No such change',
        },
      },
    },
  };
}
