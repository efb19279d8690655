import type { JsonSchema } from '../../base/connector.ts';
import { CONTENT_DEFAULT, CONTENT_FORMS } from '../../read/content-forms.ts';
import * as schema from '../kit/schema.ts';
import { PAGE_URL_CHARACTERS_MAX } from './page-address.ts';

/** Choice: maximum number of patterns in one list, and of characters of each, so that a step that contains them stays under 4 KiB. */
const PATTERNS_MAX = 10;
const PATTERN_CHARACTERS_MAX = 64;

export const PAGE_URL: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: PAGE_URL_CHARACTERS_MAX,
  description: 'Address of the page; a bare host name means https.',
};

function patterns(description: string): JsonSchema {
  // Encoded URLs are ASCII, and patterns are compared with those.
  const items = { type: 'string', minLength: 1, maxLength: PATTERN_CHARACTERS_MAX, pattern: '^[!-~]+$' };
  return { type: 'array', items, maxItems: PATTERNS_MAX, description };
}

export const CONTENT: JsonSchema = {
  type: 'array',
  items: { type: 'string', enum: CONTENT_FORMS },
  minItems: 1,
  maxItems: CONTENT_FORMS.length,
  default: CONTENT_DEFAULT,
  description: 'Forms in which the content is returned. The fields of the other forms are null.',
};

/** Fields of a record that has its content in several forms, beside `text`. */
export const CONTENT_FIELDS = {
  markdown: schema.textField('The content as Markdown, if `content` of the input includes it.'),
  html: schema.textField(
    'The content as HTML without scripts, styles and classes, if `content` of the input includes it.',
  ),
};

export const SITE_FIELDS: Readonly<Record<string, JsonSchema>> = {
  url: { ...PAGE_URL, description: 'Address at which to begin; a bare host name means https.' },
  max_depth: {
    type: 'integer',
    minimum: 0,
    maximum: 20,
    description:
      'How many links away from `url` a page may be; 0 is that page alone. If it is given, pages are found by links only, even if the site lists its pages. If it is not given, links are followed up to a depth of 10.',
  },
  path_prefix: {
    type: 'string',
    minLength: 1,
    maxLength: 200,
    pattern: '^/[!-~]*$',
    description: 'Only paths that begin with this. Default: the folder of `url`; for products the whole site.',
  },
  include: patterns(
    'Only paths that match one of these. An entry without `*` matches the beginning of a path. In an entry with `*`, which stands for any characters, the whole path with its query must match.',
  ),
  exclude: patterns('Excludes paths that match one of these, written as in `include`.'),
  subdomains: schema.flagInput('Whether other hosts of the same registrable domain belong to the site.'),
};

/** Input of the operations on whole sites. */
export const SITE_INPUT = schema.inputSchema(SITE_FIELDS, ['url']);
export const SITE_CONTENT_INPUT = schema.inputSchema({ ...SITE_FIELDS, content: CONTENT }, ['url']);

export const PAGE_INPUT = schema.inputSchema({ url: PAGE_URL }, ['url']);
export const PAGE_CONTENT_INPUT = schema.inputSchema({ url: PAGE_URL, content: CONTENT }, ['url']);
