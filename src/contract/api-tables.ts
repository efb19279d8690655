import type { Tag } from './endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';
import type { EndpointId } from './routes.ts';

/** Matches `<!-- endpoints: listEntries putEntry -->`, a table, and `<!-- /endpoints -->`. */
const BLOCK = /<!-- endpoints: ([\w ]+) -->\n[^]*?(<!-- \/endpoints -->)/g;

/**
 * Returns docs/api.md with its call tables generated from `ENDPOINTS` and everything else unchanged. An endpoint that no table names is
 * added to the first table with an endpoint of its tag. The tables are not aligned.
 */
export function withEndpointTables(markdown: string): string {
  const tables = tablesIn(markdown);
  const named = new Set(tables.flat());
  const added = Object.entries(ENDPOINTS).filter(([id, { guide }]) => guide !== undefined && !named.has(id));
  let at = 0;
  return markdown.replaceAll(BLOCK, (_block, _ids: string, end: string) => {
    const own = tables[at] ?? [];
    const ids = [...own, ...added.filter(([, { tag }]) => firstOf(tag, tables) === at).map(([id]) => id)];
    at++;
    const start = `<!-- endpoints: ${ids.join(' ')} -->`;
    return [start, '', '| Call | Response |', '| --- | --- |', ...ids.map(rowOf), '', end].join('\n');
  });
}

/** Returns the endpoint ids that the tables name, in order. */
export function idsInTables(markdown: string): readonly string[] {
  return tablesIn(markdown).flat();
}

function tablesIn(markdown: string): readonly (readonly string[])[] {
  return [...markdown.matchAll(BLOCK)].map(([, ids = '']) => ids.trim().split(/ +/));
}

/** Returns the position of the first table with an endpoint of the tag; -1 without one. */
function firstOf(tag: Tag, tables: readonly (readonly string[])[]): number {
  const ids = new Set<string>(Object.keys(ENDPOINTS).filter((id) => ENDPOINTS[id as EndpointId].tag === tag));
  return tables.findIndex((table) => table.some((id) => ids.has(id)));
}

function rowOf(id: string): string {
  if (!Object.hasOwn(ENDPOINTS, id)) throw new Error(`docs/api.md names the endpoint ${id}, which does not exist`);
  const { method, path, guide } = ENDPOINTS[id as EndpointId];
  if (guide === undefined) throw new Error(`the endpoint ${id} has no text for docs/api.md`);
  return `| \`${method} ${path}\` | ${guide} |`;
}
