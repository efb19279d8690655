import { readPageState } from '../../read/page-state.ts';
import { normalisedUrl } from '../../read/urls.ts';
import * as schema from '../kit/schema.ts';
import { singlePage } from './single-page.ts';
import { leftOutOf, restOf } from './truncated.ts';

export const pageState = singlePage({
  name: 'page.state',
  description:
    'The data that a page gives its scripts: the state of Next.js, Nuxt, Apollo and React server components, and other JSON in its scripts; one record for each block. Only JSON is read; no script is run.',
  record: schema.recordSchema({
    url: schema.urlField('The page, after redirects.'),
    format: schema.textField('`next`, `nuxt`, `apollo`, `rsc` (React server components), `initial` or `json`.'),
    path: schema.textField('Where it stands on the page: `#id` of its script, its variable, or `script[3]`.'),
    data: { type: ['object', 'array', 'null'], description: 'The block as the page has it.' },
  }),
  example: {
    url: 'https://www.example.com/news/harbour',
    format: 'next',
    path: '#__NEXT_DATA__',
    data: { props: { pageProps: { title: 'Harbour bridge reopens' } } },
  },
  read(html, { url }) {
    const { blocks, isCut } = readPageState(html);
    const records = blocks.map(({ format, path, data }, at) => ({
      id: `${normalisedUrl(url)} ${path} ${at}`,
      sourceUrl: url,
      fields: { url, format, path, data },
    }));
    return { records, ...leftOutOf(isCut ? `data of ${url} beyond the limits` : restOf(html)) };
  },
});
