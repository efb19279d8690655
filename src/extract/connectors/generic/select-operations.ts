import {
  SourceFailure,
  type FoundRecord,
  type JsonObject,
  type JsonSchema,
  type Operation,
  type Page,
  type StartResult,
  type Step,
  type StepNote,
  type StepResult,
} from '../../base/connector.ts';
import type { HtmlPage } from '../../read/html.ts';
import { readPageHtml } from '../../read/page-html.ts';
import { normalisedUrl } from '../../read/urls.ts';
import { FIELDS_MAX, FIELD_TYPES, readSelectPlan, type SelectPlan } from '../../select/field-plan.ts';
import { schemaOfFields } from '../../select/field-schema.ts';
import { isEmptyRow, readSelected, type SelectedRows } from '../../select/read-fields.ts';
import { SelectStepsSpent } from '../../select/select-budget.ts';
import { SELECTOR_CHARACTERS_MAX } from '../../select/selector.ts';
import * as schema from '../kit/schema.ts';
import { runWalk } from './crawl-steps.ts';
import type { WalkState } from './crawl.ts';
import { PAGE_URL, SITE_FIELDS } from './fields.ts';
import { PAGE_URL_CHARACTERS_MAX, parseAddress } from './page-address.ts';
import { isOfWholeSite, movedScope, scopeOf, type Scope } from './scope.ts';
import { siteWalk } from './site-operations.ts';
import { leftOutOf, restOf } from './truncated.ts';

/** Choice: as many pages as a list that people read may have. */
const PAGES_MAX = 1_000;

function selectorInput(description: string): JsonSchema {
  return { type: 'string', minLength: 1, maxLength: SELECTOR_CHARACTERS_MAX, description };
}

const OWN_FIELDS: Readonly<Record<string, JsonSchema>> = {
  each: selectorInput('CSS selector of the elements that are one record each. Without it, a page is one record.'),
  fields: {
    type: 'object',
    minProperties: 1,
    maxProperties: FIELDS_MAX,
    additionalProperties: { type: ['string', 'object'] },
    description: `Name → CSS selector, or an object with \`select\`, \`type\` (${FIELD_TYPES.join(', ')}), \`attr\`, \`pattern\`, \`default\`, \`list\`, or with \`each\` and \`fields\`. Without \`select\`, the element itself.`,
  },
};

/** A record has the fields of the input, so records of different jobs share no field. */
const RECORD = { ...schema.recordSchema({}), description: 'The fields of the input.' };

const EXAMPLE_FIELDS = {
  id: { attr: 'data-id' },
  title: 'h3',
  link: { select: 'h3 a', type: 'url' },
  price: { select: '.price', type: 'money' },
  tags: { select: '.tag', list: true },
} as const;
const EXAMPLE_RECORD = {
  id: 'p-1',
  title: 'Tea cup',
  link: 'https://shop.example.com/tea-cup',
  price: { amount: 12.5, currency: 'EUR' },
  tags: ['new'],
};

/** How a site is crawled for fields: by links and sitemaps, since an interface of its software has no elements to select. */
const WALK = { ways: [], joinsSitemaps: true, interfaces: {}, firstSitemaps: null, named: null } as const;

interface SelectStep extends JsonObject {
  readonly url: string;
  /** Pages that may still be read, this one included. */
  readonly pagesLeft: number;
  readonly isFirst: boolean;
  readonly scope: Scope;
}

/** Starts without a check of its fields: `selectFault` checks them. */
export const pageSelect: Operation = {
  name: 'page.select',
  description:
    'Fields of your own: CSS selectors choose them from a page, and from the pages that its link to the next page leads to. A field is null where nothing fits.',
  input: schema.inputSchema(
    {
      url: PAGE_URL,
      ...OWN_FIELDS,
      next: selectorInput(
        'CSS selector of the link to the next page. Only pages of the same site are read, each once.',
      ),
      max_pages: {
        type: 'integer',
        minimum: 1,
        maximum: PAGES_MAX,
        default: PAGES_MAX,
        description: 'How many pages are read at most, with `next`.',
      },
    },
    ['url', 'fields'],
  ),
  record: RECORD,
  example: {
    input: { url: 'https://shop.example.com/cups', each: 'li.p', next: 'a[rel~=next]', fields: EXAMPLE_FIELDS },
    record: EXAMPLE_RECORD,
  },
  tier: 'standard',
  paging: 'One page at a time.',
  start(input) {
    const address = parseAddress(input);
    if (address.kind === 'fault') return { kind: 'fault', pointer: '/url', message: address.message };
    const pagesLeft = input['next'] === undefined ? 1 : pagesMaxOf(input);
    const state: SelectStep = {
      url: address.url,
      pagesLeft,
      isFirst: true,
      scope: scopeOf(address.url, {}, true),
    };
    return { kind: 'steps', steps: [{ key: normalisedUrl(address.url), state }] };
  },
  forInput(input) {
    const plan = planOf(input);
    return {
      record: schemaOfFields(plan.fields),
      async run(step, source) {
        const state = step as SelectStep;
        const page = await source.page(state.url);
        return readSelectPage(plan, state, page, input['max_pages'] === undefined);
      },
    };
  },
  run: runsForInput,
  carriesRest: (step) => !(step as SelectStep).isFirst,
};

export const siteSelect: Operation = {
  ...siteWalk({
    name: 'site.select',
    description:
      'Fields of your own from the pages of a site, which are found as by `site.pages`. A page on which no field fits gives no record.',
    input: schema.inputSchema({ ...SITE_FIELDS, ...OWN_FIELDS }, ['url', 'fields']),
    record: RECORD,
    example: {
      input: { url: 'https://shop.example.com/', include: ['/cups/'], each: 'li.p', fields: EXAMPLE_FIELDS },
      record: EXAMPLE_RECORD,
    },
    paging: 'One page at a time.',
    whole: false,
    walk: { ...WALK, read: () => [] },
    check: selectFault,
  }),
  forInput(input) {
    const plan = planOf(input);
    const walk = {
      ...WALK,
      read: (html: HtmlPage, page: Page) => recordsOf(selected(plan, html), page.url).filter(hasValue),
    };
    return {
      record: schemaOfFields(plan.fields),
      run: (step, source, want) => runWalk(walk, step as WalkState, source, want),
    };
  },
  run: runsForInput,
};

function hasValue({ fields }: FoundRecord): boolean {
  return !isEmptyRow(fields);
}

/** The operations of this file read nothing without their input. */
function runsForInput(): Promise<never> {
  return Promise.reject(new SourceFailure('internal_error', 'the operation was run without its input', false));
}

/** Returns the first error in `each`, `fields` and `next` of an input; null without one. */
export function selectFault(input: JsonObject): Extract<StartResult, { kind: 'fault' }> | null {
  const read = readSelectPlan(input);
  return read.kind === 'fault' ? read : null;
}

/** The input has started, so it has a plan. */
function planOf(input: JsonObject): SelectPlan {
  const read = readSelectPlan(input);
  if (read.kind === 'fault') throw new Error(`${read.pointer}: ${read.message}`);
  return read.plan;
}

function pagesMaxOf({ max_pages: given }: JsonObject): number {
  return typeof given === 'number' ? given : PAGES_MAX;
}

/** Throws `SourceFailure`. */
function selected(plan: SelectPlan, html: HtmlPage): SelectedRows {
  try {
    return readSelected(plan, html);
  } catch (error) {
    if (error instanceof SelectStepsSpent)
      throw new SourceFailure('limit_reached', `${html.url}: ${error.message}`, false);
    throw error;
  }
}

function readSelectPage(plan: SelectPlan, state: SelectStep, page: Page, isUnbounded: boolean): StepResult {
  const html = readPageHtml(page);
  const found = selected(plan, html);
  const scope = state.isFirst ? movedScope(state.scope, state.url, page.url) : state.scope;
  const { step, note } = nextStep(found.next, { ...state, scope });
  const isEnd = step !== null && state.pagesLeft <= 1;
  const behind = found.isCut ? `elements of ${page.url} after the first ${found.rows.length}` : restOf(html);
  return {
    records: recordsOf(found, page.url),
    next: step === null || isEnd ? [] : [step],
    total: null,
    ...(note !== null && { notes: [note] }),
    ...leftOutOf(isEnd && isUnbounded && plan.next !== null ? `pages after the first ${PAGES_MAX}` : behind),
  };
}

function nextStep(
  url: string | null,
  { scope, pagesLeft }: SelectStep,
): { readonly step: Step | null; readonly note: StepNote | null } {
  if (url === null) return { step: null, note: null };
  if (url.length > PAGE_URL_CHARACTERS_MAX || !isOfWholeSite(url, scope)) {
    const detail = `the link to the next page leads to another site, or is too long: ${url.slice(0, 200)}`;
    return { step: null, note: { reason: 'unsupported_content', detail } };
  }
  const state: SelectStep = { url, pagesLeft: pagesLeft - 1, isFirst: false, scope };
  return { step: { key: normalisedUrl(url), state }, note: null };
}

function recordsOf({ rows }: SelectedRows, url: string): readonly FoundRecord[] {
  const page = normalisedUrl(url);
  return rows.map(({ fields, isTruncated }, at) => ({
    id: `${page} ${at}`,
    sourceUrl: url,
    fields,
    ...(isTruncated && { isTruncated: true }),
  }));
}
