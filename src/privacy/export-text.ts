import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { EXPORT_SECTIONS, type ExportPlace, NOT_EXPORTED } from './export-fields.ts';
import { ExportPage, type PageHead } from './export-page.ts';
import type { PersonExportRow } from './export-person.ts';

/** Choice: some months of a busy person; some 100 ms of the main thread, in slices. */
export const EXPORT_ROWS_MAX = 10_000;
export const EXPORT_BYTES_MAX = 8 * 1_048_576;

export type PersonExportFormat = 'ndjson' | 'html';

/** A complete export, compressed. */
export interface ExportTexts {
  readonly texts: Readonly<Record<PersonExportFormat, Buffer>>;
  readonly bytes: number;
  /** Place → rows. */
  readonly found: Readonly<Record<string, number>>;
  /** Place → rows that did not fit. */
  readonly left: Readonly<Record<string, number>>;
}

/**
 * Collects the rows of an export as NDJSON and as a page. Lines: a head with the sections and the meanings of their fields, the rows
 * (`{"type": "row", "place", …}`), and an end with the counts.
 */
export class PersonExportWriter {
  readonly #lines: string[];
  readonly #page: ExportPage;
  readonly #found: Record<string, number> = {};
  readonly #left: Record<string, number> = {};
  #rows = 0;
  #bytes = 0;

  constructor(head: PageHead) {
    this.#page = new ExportPage(head);
    const { subject, value, requestedAtMs } = head;
    const places = Object.entries(EXPORT_SECTIONS).map(([place, section]) => ({ place, ...section }));
    const about = { subject, value, requested_at: Math.floor(requestedAtMs / 1_000) };
    this.#lines = [JSON.stringify({ type: 'export', ...about, places, not_exported: NOT_EXPORTED })];
  }

  add<P extends ExportPlace>(place: P, row: PersonExportRow<P>): void {
    this.#found[place] = (this.#found[place] ?? 0) + 1;
    if (this.#rows < EXPORT_ROWS_MAX && this.#bytes < EXPORT_BYTES_MAX) {
      const line = JSON.stringify({ type: 'row', place, ...row });
      if (this.#bytes + line.length <= EXPORT_BYTES_MAX) {
        this.#rows++;
        this.#bytes += line.length;
        this.#lines.push(line);
        this.#page.add(place, row);
        return;
      }
    }
    this.#left[place] = (this.#left[place] ?? 0) + 1;
  }

  async end(): Promise<ExportTexts> {
    const [found, left] = [this.#found, this.#left];
    this.#lines.push(JSON.stringify({ type: 'end', found, left_out: left }));
    const pack = promisify(gzip);
    const [ndjson, html] = await Promise.all([pack(`${this.#lines.join('\n')}\n`), pack(this.#page.html(left))]);
    return { texts: { ndjson, html }, bytes: ndjson.length + html.length, found, left };
  }
}

/** Returns the text of an export. */
export function unpackExport({ texts }: ExportTexts, format: PersonExportFormat): Promise<Buffer> {
  return promisify(gunzip)(texts[format]);
}
