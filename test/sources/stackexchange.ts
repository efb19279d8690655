import type { JsonObject } from '../../src/extract/base/connector.ts';
import type { FakeReply } from '../support/fake-source.ts';
import { json, many, numberIn, sizeIn, type SourceCase, type World } from './source-case.ts';

/**
 * The Stack Exchange API 2.3. Shapes: api.stackexchange.com/docs, "Common Wrapper Object", types "question" and "answer" with the
 * filter `withbody`; "Paging" (25 pages without a key), "Error Handling", "Throttles".
 */
export function stackexchangeWorld(records: number): World {
  return ({ url: text }) => {
    const url = new URL(text);
    const item = { '/2.3/search/advanced': question, '/2.3/questions/5501/answers': answer }[url.pathname];
    if (item === undefined) return stackexchangeError(404, 'no_method', 'this method cannot be called this way');
    if (url.searchParams.get('site') !== 'cooking')
      return stackexchangeError(400, 'bad_parameter', 'No site found for name');
    const size = numberIn(url, 'pagesize', 30);
    const page = numberIn(url, 'page', 1);
    if (size > 100) return stackexchangeError(400, 'bad_parameter', 'pagesize');
    if (page > 25) return stackexchangeError(403, 'access_denied', 'page above 25 requires access token or app key');
    const items = many(records, item).slice((page - 1) * size, page * size);
    return json({ items, has_more: page * size < records, quota_max: 300, quota_remaining: 287 });
  };
}

export function stackexchangeError(id: number, name: string, message: string): FakeReply {
  return json({ error_id: id, error_message: message, error_name: name }, {}, 400);
}

function question(place: number): JsonObject {
  return {
    tags: ['equipment', 'cleaning'],
    owner: {
      account_id: 1,
      reputation: 101,
      user_id: 17,
      user_type: 'registered',
      display_name: 'M&#237;ra',
      link: 'https://cooking.stackexchange.com/users/17/mira',
    },
    is_answered: true,
    view_count: 2210,
    accepted_answer_id: 5507,
    answer_count: 3,
    score: 14,
    last_activity_date: 1_714_732_200,
    creation_date: 1_714_636_800,
    question_id: 5501 + place,
    content_license: 'CC BY-SA 4.0',
    link: `https://cooking.stackexchange.com/questions/${5501 + place}/limescale`,
    title: 'Limescale in &quot;my&quot; kettle',
    body: '<p>How do I get rid of it?</p>\n',
  };
}

function answer(place: number): JsonObject {
  return {
    owner: { user_type: 'does_not_exist', display_name: 'user42' },
    is_accepted: place === 0,
    score: 21,
    last_activity_date: 1_714_732_200,
    creation_date: 1_714_636_800,
    answer_id: 6000 + place,
    question_id: 5501,
    content_license: 'CC BY-SA 4.0',
    body: '<p>Boil it with citric acid.</p>\n',
  };
}

const COMMON = {
  connector: 'stackexchange',
  world: stackexchangeWorld,
  paging: 'cursor',
  sizeAsked: sizeIn('pagesize'),
  hostIn: null,
  announcesTotal: false,
  recordsMax: 2_500,
} as const;

export const stackexchangeCases: readonly SourceCase[] = [
  { ...COMMON, operation: 'search.posts', input: { query: 'limescale', site: 'cooking', tag: 'cleaning' } },
  { ...COMMON, operation: 'question.answers', input: { question: 5501, site: 'cooking' } },
];
