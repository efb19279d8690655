import { useEffect } from 'preact/hooks';
import type { RecordPageBody } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { type Pages, usePages } from '../../use-pages.ts';

export type ExtractedRecord = RecordPageBody['records'][number];

const PAGE_RECORDS = 50;

/** The URL of a page of records, those of an unfinished job too. */
export function recordsUrl(id: string, query: Readonly<Record<string, string | number | null>>): string {
  return v1(`/extractions/${encodeURIComponent(id)}/records`, { partial: true, ...query });
}

/** Reads records of a job page after page. `version` changes when there may be more, for example with the number collected. */
export function useRecords(id: string, version: string): Pages<ExtractedRecord> {
  const records = usePages<ExtractedRecord, RecordPageBody>(recordsUrl(id, { limit: PAGE_RECORDS, format: 'json' }), {
    idOf: ({ _meta: meta }) => String(meta.seq),
    toPage: ({ records: data, has_more, next_cursor }) => ({ data, has_more, next_cursor }),
  });
  useEffect(() => {
    if (!records.loading) records.refresh();
  }, [version]);
  return records;
}
