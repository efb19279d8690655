/** What a trial of own fields asks for and finds, without a page. */

type Values = Readonly<Record<string, unknown>>;

/** Choice: as many as a table shows without scrolling far. */
const TRIAL_RECORDS = 20;

/**
 * Returns the extraction that reads the first page of `page.select` or `site.select` alone: without `next` one page is read. Null if the
 * input names no page or no fields yet.
 */
export function trialOf({ url, urls, each, fields }: Values): Values | null {
  const first = url ?? (Array.isArray(urls) ? (urls as readonly unknown[])[0] : undefined);
  if (first === undefined || typeof fields !== 'object' || fields === null) return null;
  return {
    connector: 'generic',
    operation: 'page.select',
    input: { url: first, ...(each === undefined ? {} : { each }), fields },
    collect: { mode: 'limit', limit: TRIAL_RECORDS },
  };
}

/** Returns how many records have no value for a field: null, or an empty list. */
export function emptyCount(records: readonly Values[], name: string): number {
  return records.filter((record) => {
    const value = record[name] ?? null;
    return value === null || (Array.isArray(value) && value.length === 0);
  }).length;
}
