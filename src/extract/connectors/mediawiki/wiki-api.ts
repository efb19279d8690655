import { type JsonObject, type Source, SourceFailure } from '../../base/connector.ts';
import { type AddressQuery, withQuery } from '../kit/api-address.ts';
import { at, integerOf, objectIn, objectOf, textMember, unreadable } from '../kit/json.ts';

/** The action API of a wiki: its addresses, its errors and its continuation. */

/** Maximum replication lag (seconds) of the wiki's databases for a request that is not urgent. Source: Manual:Maxlag parameter. */
const LAG_SECONDS_MAX = 5;
/** Source: Manual:Maxlag parameter, the minimum wait if the response names none. */
const LAG_WAIT_SECONDS = 5;

/** `later`: the wiki asks for a pause. */
export type WikiAnswer =
  | { readonly kind: 'answer'; readonly body: JsonObject }
  | { readonly kind: 'later'; readonly pauseSeconds: number; readonly detail: string };

/** Wikis are at the top of their host, in `/w`, or in a folder. A URL of `api.php` itself is used as it is. */
export function wikiApis(site: string): readonly string[] {
  if (site.endsWith('/api.php')) return [site];
  const { origin } = new URL(site);
  return [...new Set([`${origin}/w/api.php`, `${site}/api.php`, `${origin}/api.php`])];
}

export async function askWiki(source: Source, api: string, query: AddressQuery): Promise<WikiAnswer> {
  const fixed = { format: 'json', formatversion: 2, maxlag: LAG_SECONDS_MAX };
  const { body, headers } = await source.json(withQuery(api, { ...query, ...fixed }));
  const answer = objectIn(body, 'the answer');
  const code = textMember(at(answer, 'error', 'code'));
  if (code === 'maxlag') {
    const pauseSeconds = integerOf(headers['retry-after']) ?? LAG_WAIT_SECONDS;
    return { kind: 'later', pauseSeconds, detail: `${api}: the databases of the wiki lag` };
  }
  if (answer['error'] !== undefined) throw failureOf(code, api);
  return { kind: 'answer', body: answer };
}

/** Source: API:Errors and warnings, "Standard error messages". */
function failureOf(code: string | null, api: string): SourceFailure {
  const detail = `${api} answers the error ${code}`;
  if (code === null) return unreadable(detail);
  if (/^(?:missingtitle|nosuch|invalidtitle|cminvalidcategory|invalidcategory)/.test(code))
    return new SourceFailure('source_not_found', detail, false);
  if (code === 'readapidenied') return new SourceFailure('login_required', detail, false);
  if (/denied|blocked/.test(code)) return new SourceFailure('access_denied', detail, false);
  if (code === 'ratelimited') return new SourceFailure('rate_limited_by_source', detail, true);
  if (/^(?:internal_api_error|readonly|timeout|search-error)/.test(code))
    return new SourceFailure('source_unavailable', detail, true);
  return new SourceFailure('unsupported_content', detail, false);
}

/** Returns the parameters for the next page. All of `continue` is sent back unchanged. Source: API:Continue. */
export function wikiCursor(body: JsonObject): string | null {
  const tokens = Object.entries(objectOf(body['continue']) ?? {}).filter(
    ([, value]) => typeof value === 'string' || typeof value === 'number',
  );
  return tokens.length === 0 ? null : JSON.stringify(Object.fromEntries(tokens));
}

export function wikiContinuation(cursor: string | number | null): AddressQuery {
  return cursor === null ? {} : (JSON.parse(String(cursor)) as AddressQuery);
}
