import type { FoundRecord, JsonObject, JsonValue } from '../../base/connector.ts';
import { isoDate } from '../../read/dates.ts';
import { plainText, textOfHtml } from '../../read/html.ts';
import { address, withQuery } from '../kit/api-address.ts';
import { at, flagOf, idOf, integerOf, objectIn, textMember, textsOf, unreadable, urlOf } from '../kit/json.ts';
import { recordOf } from '../kit/record.ts';
import * as schema from '../kit/schema.ts';

/** Records of a wiki's answers. `api`: the address of the `api.php` that answered. */

/** Returns the URL of a page: by the wiki's own pattern if it is known, else by the script next to `api.php`. */
function pageUrl(title: string, api: string, general?: JsonValue): string {
  const name = title.replaceAll(' ', '_');
  const server = urlOf(at(general, 'server'), api);
  const pattern = textMember(at(general, 'articlepath'));
  const path = pattern?.startsWith('/') === true ? pattern.replace('$1', () => encodeName(name)) : null;
  return (
    (server === null || path === null ? null : urlOf(path, server)) ??
    withQuery(api.replace(/api\.php$/, 'index.php'), { title: name })
  );
}

/** Keeps slashes and colons readable, as wikis write them. */
function encodeName(name: string): string {
  return address('', [name]).slice(1).replaceAll('%2F', '/').replaceAll('%3A', ':');
}

function pageIn(item: JsonObject, api: string, general?: JsonValue) {
  const title = textMember(item['title']);
  return { id: idOf(item['pageid']), title, url: title === null ? null : pageUrl(title, api, general) };
}

export function readWikiHit(item: JsonObject, api: string, general: JsonValue | undefined): FoundRecord | null {
  const { id, title, url } = pageIn(item, api, general);
  return recordOf(id, url, {
    title,
    snippet: plainText(textMember(item['snippet'])),
    namespace: integerOf(item['ns']),
    words: integerOf(item['wordcount']),
    bytes: integerOf(item['size']),
    updated_at: isoDate(item['timestamp']),
  });
}

export function readWikiPage(body: JsonObject, api: string): FoundRecord {
  const page = objectIn(body['parse'], 'parse');
  const { id, title, url } = pageIn(page, api);
  const html = textMember(page['text']);
  const record = recordOf(id, url, {
    title,
    display_title: plainText(textMember(page['displaytitle'])),
    text: textOfHtml(html),
    html,
    wikitext: textMember(page['wikitext']),
    revision_id: idOf(page['revid']),
    categories: textsOf(page['categories'], (item) =>
      at(item, 'hidden') === true ? null : (textMember(at(item, 'category'))?.replaceAll('_', ' ') ?? null),
    ),
    external_links: textsOf(page['externallinks'], (link) => urlOf(link, api)),
  });
  if (record === null) throw unreadable(`${api}: a page without a number or a title`);
  return record;
}

export function readWikiRevision(item: JsonObject, title: string | null, api: string): FoundRecord | null {
  const id = idOf(item['revid']);
  if (id === null) return null;
  const index = api.replace(/api\.php$/, 'index.php');
  const url = withQuery(index, { oldid: id });
  const user = textMember(item['user']);
  // A user name imported with revisions from another wiki has that wiki's prefix, `imported>Lio`, and no page here.
  const hasPage = user !== null && !user.includes('>');
  return recordOf(id, url, {
    page_title: title,
    parent_id: item['parentid'] === 0 ? null : idOf(item['parentid']),
    author: schema.author(user, hasPage ? withQuery(index, { title: `User:${user}` }) : null),
    comment: textMember(item['comment']),
    is_minor: flagOf(item['minor']),
    bytes: integerOf(item['size']),
    tags: textsOf(item['tags']),
    published_at: isoDate(item['timestamp']),
  });
}

export function readWikiMember(item: JsonObject, api: string, general: JsonValue | undefined): FoundRecord | null {
  const { id, title, url } = pageIn(item, api, general);
  return recordOf(id, url, {
    title,
    kind: textMember(item['type']),
    namespace: integerOf(item['ns']),
    added_at: isoDate(item['timestamp']),
  });
}
