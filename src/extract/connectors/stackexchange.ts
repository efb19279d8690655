import {
  SourceFailure,
  type Connector,
  type FoundRecord,
  type JsonObject,
  type JsonValue,
  type Source,
} from '../base/connector.ts';
import { isoFromSeconds } from '../read/dates.ts';
import { plainText, textOfHtml } from '../read/html.ts';
import { address, type AddressQuery } from './kit/api-address.ts';
import { chained, type PageResult, type ChainTurn } from './kit/chain.ts';
import {
  at,
  flagOf,
  givenText,
  idOf,
  integerOf,
  listIn,
  readEach,
  textMember,
  textsOf,
  unreadable,
  urlOf,
} from './kit/json.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';

const BASE = 'https://api.stackexchange.com/2.3';
/** Source: "Paging". */
const PAGE_SIZE_MAX = 100;
/** Source: "Paging": pages beyond 25 are only for callers with a key. */
const PAGE_NUMBER_MAX = 25;
const SITE_DEFAULT = 'stackoverflow';

interface Args extends JsonObject {
  readonly path: readonly string[];
  readonly site: string;
  readonly query: { readonly [name: string]: string | null };
}

const QUESTION = schema.recordSchema({
  id: schema.idField('Number of the question on its site.'),
  url: schema.urlField('The question.'),
  title: schema.textField('Without markup.'),
  text: schema.textField('As text.'),
  html: schema.textField('As the site renders it.'),
  author: schema.authorField('Who asked; without a URL if the account was deleted.'),
  published_at: schema.dateField('When it was asked.'),
  updated_at: schema.dateField('Time of its last activity, such as an edit or an answer.'),
  tags: schema.textsField('Names.'),
  score: schema.countField('Votes for it minus votes against it.'),
  answers: schema.countField('Number of answers.'),
  views: schema.countField('How often it was viewed.'),
  is_answered: schema.flagField('Whether an answer was accepted or has upvotes.'),
  accepted_answer_id: schema.textField('Number of the accepted answer.'),
  license: schema.textField('The licence under which it may be used.'),
});
const ANSWER = schema.recordSchema({
  id: schema.idField('Number of the answer on its site.'),
  url: schema.urlField('The answer.'),
  question_id: schema.textField('Number of the question.'),
  text: schema.textField('As text.'),
  html: schema.textField('As the site renders it.'),
  author: schema.authorField('Who answered; without a URL if the account was deleted.'),
  published_at: schema.dateField('When it was written.'),
  updated_at: schema.dateField('When it was last changed.'),
  score: schema.countField('Votes for it minus votes against it.'),
  is_accepted: schema.flagField('Whether the asker accepted it.'),
  license: schema.textField('The licence under which it may be used.'),
});

async function readPage(
  { args, at: page, size }: ChainTurn<Args>,
  source: Source,
  read: (item: JsonObject) => FoundRecord | null,
): Promise<PageResult<Args>> {
  const number = Number(page ?? 1);
  const query: AddressQuery = { ...args.query, site: args.site, filter: 'withbody', page: number, pagesize: size };
  const { body } = await ask(address(source.base(BASE), args.path, query), source);
  const items = listIn(at(body, 'items'), 'items');
  const backoff = integerOf(at(body, 'backoff'));
  return {
    kind: 'page',
    records: readEach(items, read),
    next: at(body, 'has_more') === true && number < PAGE_NUMBER_MAX ? number + 1 : null,
    total: integerOf(at(body, 'total')),
    ...(backoff === null ? {} : { pauseSeconds: backoff }),
  };
}

/** Errors have status 400 and an error number. Source: "Error Handling". */
async function ask(url: string, source: Source) {
  const answer = await source.json(url, { allowStatuses: [400] });
  const error = integerOf(at(answer.body, 'error_id'));
  if (answer.status !== 400 && error === null) return answer;
  const detail = `${error} ${textMember(at(answer.body, 'error_name'))} from ${url}`;
  if (error === 502) throw new SourceFailure('rate_limited_by_source', detail, true);
  if (error === 500 || error === 503) throw new SourceFailure('source_unavailable', detail, true);
  if (error === 404) throw new SourceFailure('source_not_found', detail, false);
  if (error === 401 || error === 402) throw new SourceFailure('login_required', detail, false);
  if (error !== null && error >= 403 && error <= 407) throw new SourceFailure('access_denied', detail, false);
  // An unknown site also results in 400.
  if (/site/.test(textMember(at(answer.body, 'error_message')) ?? ''))
    throw new SourceFailure('source_not_found', detail, false);
  throw unreadable(detail);
}

function readQuestion(item: JsonObject): FoundRecord | null {
  const id = idOf(item['question_id']);
  const url = urlOf(item['link']);
  const html = textMember(item['body']);
  return recordOf(id, url, {
    title: plainText(textMember(item['title'])),
    text: textOfHtml(html),
    html,
    author: writer(item['owner']),
    published_at: isoFromSeconds(item['creation_date']),
    updated_at: isoFromSeconds(item['last_activity_date']),
    tags: textsOf(item['tags']),
    score: integerOf(item['score']),
    answers: integerOf(item['answer_count']),
    views: integerOf(item['view_count']),
    is_answered: flagOf(item['is_answered']),
    accepted_answer_id: idOf(item['accepted_answer_id']),
    license: textMember(item['content_license']),
  });
}

function readAnswer(item: JsonObject, site: string): FoundRecord | null {
  const id = idOf(item['answer_id']);
  if (id === null) return null;
  const url = address(`https://${hostOf(site)}`, ['a', id]);
  const html = textMember(item['body']);
  return recordOf(id, url, {
    question_id: idOf(item['question_id']),
    text: textOfHtml(html),
    html,
    author: writer(item['owner']),
    published_at: isoFromSeconds(item['creation_date']),
    updated_at: isoFromSeconds(item['last_edit_date']) ?? isoFromSeconds(item['creation_date']),
    score: integerOf(item['score']),
    is_accepted: flagOf(item['is_accepted']),
    license: textMember(item['content_license']),
  });
}

function writer(owner: JsonValue | undefined): JsonObject | null {
  return schema.author(plainText(textMember(at(owner, 'display_name'))), urlOf(at(owner, 'link')));
}

/** Sites with a host of their own; all others are under stackexchange.com. Source: the method `/sites`. */
const OWN_HOSTS = /(?:^|\.)(?:stackoverflow|superuser|serverfault|askubuntu|stackapps)$/;

/** Returns the host of a site, which the interface identifies by a short name or by its host. */
function hostOf(site: string): string {
  if (/\.(?:com|net)$/.test(site)) return site;
  if (OWN_HOSTS.test(site)) return `${site}.com`;
  return /(?:^|\.)mathoverflow$/.test(site) ? `${site}.net` : `${site}.stackexchange.com`;
}

const SITE = schema.nameInput(
  'Short name or host of the site, for example `superuser` or `cooking.stackexchange.com`. Default: `stackoverflow`.',
  '^[a-z0-9]+(?:[.-][a-z0-9]+)*$',
  60,
);
const EXAMPLE_AUTHOR = { name: 'Mira', url: 'https://cooking.stackexchange.com/users/17/mira' };
const EXAMPLE_TIMES = { published_at: '2024-05-02T08:00:00Z', updated_at: '2024-05-03T10:30:00Z' };
const COMMON = { tier: 'basic', pageSizeMax: PAGE_SIZE_MAX, sizing: 'fixed' } as const;
const PAGING = 'By page number, 100 a page, at most 25 pages without a key; no total is announced.';

export const stackexchange: Connector = {
  id: 'stackexchange',
  title: 'Stack Exchange',
  description: 'Questions and answers of Stack Overflow and all other sites of Stack Exchange.',
  docsUrl: 'https://api.stackexchange.com/docs',
  hosts: [new URL(BASE).hostname],
  terms: {
    termsUrl: 'https://stackoverflow.com/legal/api-terms-of-use',
    attribution: 'Content is CC BY-SA; name the author and link to the question or the answer.',
    ratePolicy: '300 requests a day from one address without a key; if the source asks for a pause, the job waits.',
  },
  operations: [
    chained<Args>({
      ...COMMON,
      name: 'search.posts',
      description: 'Questions that match the query and, if one is given, have the tag.',
      paging: PAGING,
      input: schema.inputSchema(
        {
          query: schema.queryInput('Words to look for in titles and texts.'),
          site: SITE,
          tag: schema.nameInput('Only questions with this tag.', '^[^\\s;]+$', 60),
          sort: schema.choiceInput(
            'Order of the results.',
            ['relevance', 'activity', 'creation', 'votes'],
            'relevance',
          ),
        },
        ['query'],
      ),
      record: QUESTION,
      example: {
        input: { query: 'limescale', site: 'cooking' },
        record: {
          id: '5501',
          url: 'https://cooking.stackexchange.com/questions/5501/limescale-in-my-kettle',
          title: 'Limescale in my kettle',
          text: 'How do I get rid of it?',
          html: '<p>How do I get rid of it?</p>',
          author: EXAMPLE_AUTHOR,
          ...EXAMPLE_TIMES,
          tags: ['equipment', 'cleaning'],
          score: 14,
          answers: 3,
          views: 2210,
          is_answered: true,
          accepted_answer_id: '5507',
          license: 'CC BY-SA 4.0',
        },
      },
      begin: (input) => ({
        kind: 'args',
        args: {
          path: ['search', 'advanced'],
          site: textMember(input['site']) ?? SITE_DEFAULT,
          query: {
            q: givenText(input, 'query'),
            tagged: textMember(input['tag']),
            sort: textMember(input['sort']) ?? 'relevance',
            order: 'desc',
          },
        },
      }),
      read: (turn, source) => readPage(turn, source, readQuestion),
    }),
    chained<Args>({
      ...COMMON,
      name: 'question.answers',
      description: 'The answers to a question, those with most votes first.',
      paging: PAGING,
      input: schema.inputSchema(
        { question: schema.numberInput('Number of the question, as in its address.'), site: SITE },
        ['question'],
      ),
      record: ANSWER,
      example: {
        input: { question: 5501, site: 'cooking' },
        record: {
          id: '5507',
          url: 'https://cooking.stackexchange.com/a/5507',
          question_id: '5501',
          text: 'Boil it with citric acid.',
          html: '<p>Boil it with citric acid.</p>',
          author: EXAMPLE_AUTHOR,
          ...EXAMPLE_TIMES,
          score: 21,
          is_accepted: true,
          license: 'CC BY-SA 4.0',
        },
      },
      begin: (input) => ({
        kind: 'args',
        args: {
          path: ['questions', givenText(input, 'question'), 'answers'],
          site: textMember(input['site']) ?? SITE_DEFAULT,
          query: { sort: 'votes', order: 'desc' },
        },
      }),
      read: (turn, source) => readPage(turn, source, (item) => readAnswer(item, turn.args.site)),
    }),
  ],
};
