import type { Connector, FoundRecord, JsonObject, JsonValue, Source } from '../base/connector.ts';
import { isoDate, isoFromMs } from '../read/dates.ts';
import { plainText, textOfHtml } from '../read/html.ts';
import { address } from './kit/api-address.ts';
import { chained, type PageResult, type ChainTurn } from './kit/chain.ts';
import {
  at,
  flagOf,
  givenText,
  idOf,
  integerOf,
  itemsOf,
  listIn,
  numberOf,
  readEach,
  textMember,
  urlOf,
} from './kit/json.ts';
import * as schema from './kit/schema.ts';

const GREENHOUSE = 'https://boards-api.greenhouse.io';
const LEVER = 'https://api.lever.co';
const ASHBY = 'https://api.ashbyhq.com';
/** Choice: Lever states no maximum. The other two send a whole board at once. */
const PAGE_SIZE_MAX = 100;

type Board = 'greenhouse' | 'lever' | 'ashby';

interface Args extends JsonObject {
  readonly board: Board;
  readonly company: string;
}

const JOB = schema.recordSchema({
  id: schema.idField('The number or name of the job on its board.'),
  url: schema.urlField('The job.'),
  apply_url: schema.urlField('Where to apply.'),
  title: schema.textField('As it is posted.'),
  company: schema.textField("The company's name on the board."),
  department: schema.textField('Its department in the company.'),
  team: schema.textField('Its team within the department.'),
  location: schema.textField('The first location.'),
  locations: schema.textsField('All locations.'),
  is_remote: schema.flagField('Whether it can be done remotely; null if the board does not state it.'),
  employment_type: schema.textField('The employment type as the board states it, for example `FullTime`.'),
  compensation: schema.textField('The compensation in one line.'),
  text: schema.textField('The description as text.'),
  html: schema.textField('The description as HTML.'),
  published_at: schema.dateField('When it was posted.'),
  updated_at: schema.dateField('When it was last changed.'),
});

async function readPage(turn: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  switch (turn.args.board) {
    case 'greenhouse':
      return readGreenhouse(turn, source);
    case 'lever':
      return readLever(turn, source);
    case 'ashby':
      return readAshby(turn, source);
  }
}

async function readGreenhouse({ args }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const path = ['v1', 'boards', args.company, 'jobs'];
  const { body } = await source.json(address(source.base(GREENHOUSE), path, { content: true }));
  const items = listIn(at(body, 'jobs'), 'jobs');
  const records = readEach(items, (item) => readGreenhouseJob(item, args.company));
  return { kind: 'page', records, next: null, total: integerOf(at(body, 'meta', 'total')) ?? items.length };
}

async function readLever({ args, at: offset, size }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const skip = Number(offset ?? 0);
  const path = ['v0', 'postings', args.company];
  const { body } = await source.json(address(source.base(LEVER), path, { mode: 'json', skip, limit: size }));
  const items = listIn(body, 'the postings');
  const records = readEach(items, (item) => readLeverJob(item, args.company));
  return { kind: 'page', records, next: items.length >= size ? skip + items.length : null, total: null };
}

async function readAshby({ args }: ChainTurn<Args>, source: Source): Promise<PageResult<Args>> {
  const path = ['posting-api', 'job-board', args.company];
  const { body } = await source.json(address(source.base(ASHBY), path, { includeCompensation: true }));
  // Unlisted jobs are only for people who were given their URL.
  const items = listIn(at(body, 'jobs'), 'jobs').filter((item) => at(item, 'isListed') !== false);
  const records = readEach(items, (item) => readAshbyJob(item, args.company));
  return { kind: 'page', records, next: null, total: items.length };
}

function readGreenhouseJob(item: JsonObject, company: string): FoundRecord | null {
  const id = idOf(item['id']);
  const url = urlOf(item['absolute_url']);
  if (id === null || url === null) return null;
  // The description is HTML whose special characters are escaped as entities once more.
  const content = textMember(item['content']);
  const html = content === null || content.includes('<') ? content : textOfHtml(content);
  const offices = namesOf(item['offices']);
  const location = textMember(at(item, 'location', 'name'));
  return job(id, url, {
    apply_url: url,
    title: textMember(item['title']),
    company: textMember(item['company_name']) ?? company,
    department: namesOf(item['departments'])?.[0] ?? null,
    team: null,
    location,
    locations: offices === null || offices.length === 0 ? listOf(location) : offices,
    is_remote: null,
    employment_type: null,
    compensation: null,
    text: textOfHtml(html),
    html,
    published_at: isoDate(item['first_published']),
    updated_at: isoDate(item['updated_at']),
  });
}

function readLeverJob(item: JsonObject, company: string): FoundRecord | null {
  const id = idOf(item['id']);
  const url = urlOf(item['hostedUrl']);
  if (id === null || url === null) return null;
  const lists = itemsOf(item['lists']).map(
    (list) => `<h3>${textMember(at(list, 'text')) ?? ''}</h3><ul>${textMember(at(list, 'content')) ?? ''}</ul>`,
  );
  const html = [textMember(item['description']), ...lists, textMember(item['additional'])].join('') || null;
  const location = textMember(at(item, 'categories', 'location'));
  const all = itemsOf(at(item, 'categories', 'allLocations')).flatMap((name) => textMember(name) ?? []);
  const workplace = textMember(item['workplaceType']);
  return job(id, url, {
    apply_url: urlOf(item['applyUrl']),
    title: textMember(item['text']),
    company,
    department: textMember(at(item, 'categories', 'department')),
    team: textMember(at(item, 'categories', 'team')),
    location,
    locations: all.length === 0 ? listOf(location) : all,
    is_remote: workplace === null || workplace === 'unspecified' ? null : workplace === 'remote',
    employment_type: textMember(at(item, 'categories', 'commitment')),
    compensation: salaryOf(item['salaryRange']),
    text: textOfHtml(html),
    html,
    published_at: isoFromMs(item['createdAt']),
    updated_at: isoFromMs(item['updatedAt']),
  });
}

function readAshbyJob(item: JsonObject, company: string): FoundRecord | null {
  const url = urlOf(item['jobUrl']);
  const id = idOf(item['id']) ?? url;
  if (id === null || url === null) return null;
  const location = textMember(item['location']);
  const others = itemsOf(item['secondaryLocations']).flatMap((place) => textMember(at(place, 'location')) ?? []);
  const html = textMember(item['descriptionHtml']);
  return job(id, url, {
    apply_url: urlOf(item['applyUrl']),
    title: textMember(item['title']),
    company,
    department: textMember(item['department']),
    team: textMember(item['team']),
    location,
    locations: location === null ? others : [location, ...others],
    is_remote: flagOf(item['isRemote']),
    employment_type: textMember(item['employmentType']),
    compensation: textMember(at(item, 'compensation', 'compensationTierSummary')),
    text: textMember(item['descriptionPlain']) ?? textOfHtml(html),
    html,
    published_at: isoDate(item['publishedAt']),
    updated_at: isoDate(item['updatedAt']),
  });
}

function job(id: string, url: string, fields: JsonObject): FoundRecord {
  return { id, sourceUrl: url, fields: { id, url, ...fields } };
}

function namesOf(value: JsonValue | undefined): readonly string[] | null {
  return Array.isArray(value) ? itemsOf(value).flatMap((item) => plainText(textMember(at(item, 'name'))) ?? []) : null;
}

function listOf(value: string | null): readonly string[] {
  return value === null ? [] : [value];
}

/** For example `80000–95000 EUR per-year-salary`. */
function salaryOf(range: JsonValue | undefined): string | null {
  const ends = [numberOf(at(range, 'min')), numberOf(at(range, 'max'))].filter((end) => end !== null);
  const words = [ends.join('–'), textMember(at(range, 'currency')), textMember(at(range, 'interval'))];
  return ends.length === 0 ? null : words.filter(Boolean).join(' ');
}

export const jobboards: Connector = {
  id: 'jobboards',
  title: 'Job boards',
  description: 'Open jobs of companies that post them with Greenhouse, Lever or Ashby.',
  docsUrl: 'https://developers.greenhouse.io/job-board.html',
  hosts: [GREENHOUSE, LEVER, ASHBY].map((base) => new URL(base).hostname),
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy: 'Boards are public and need no key; requests are spaced per registrable domain.',
  },
  operations: [
    chained<Args>({
      name: 'company.jobs',
      description: 'All open jobs of a company, with their descriptions.',
      paging:
        'Greenhouse and Ashby send all jobs in one response, which shows the total; Lever pages by offset, 100 a page.',
      tier: 'basic',
      pageSizeMax: PAGE_SIZE_MAX,
      sizing: 'free',
      input: schema.inputSchema(
        {
          board: {
            type: 'string',
            enum: ['greenhouse', 'lever', 'ashby'],
            description: 'The board on which the company posts.',
          },
          company: schema.nameInput(
            "The company's name in the board's URLs, for example `example` in `boards.greenhouse.io/example`.",
            '^(?!\\.{1,2}$)[\\p{L}\\p{N}][\\p{L}\\p{N} ._+&-]*$',
            100,
          ),
        },
        ['board', 'company'],
      ),
      record: JOB,
      example: {
        input: { board: 'greenhouse', company: 'exampletea' },
        record: {
          id: '127817',
          url: 'https://boards.greenhouse.io/exampletea/jobs/127817',
          apply_url: 'https://boards.greenhouse.io/exampletea/jobs/127817',
          title: 'Tea taster',
          company: 'Example Tea',
          department: 'Quality',
          team: null,
          location: 'Hamburg',
          locations: ['Hamburg', 'Colombo'],
          is_remote: null,
          employment_type: null,
          compensation: null,
          text: 'You taste tea.',
          html: '<p>You taste tea.</p>',
          published_at: '2024-04-01T07:00:00Z',
          updated_at: '2024-05-02T08:00:00Z',
        },
      },
      begin: (input) => ({
        kind: 'args',
        args: { board: givenText(input, 'board') as Board, company: givenText(input, 'company') },
      }),
      read: readPage,
    }),
  ],
};
