import { EXPORT_SECTIONS, type ExportPlace, type ExportSection, NOT_EXPORTED } from './export-fields.ts';

/** What the page says of the export as a whole. */
export interface PageHead {
  readonly subject: string;
  readonly value: string;
  readonly requestedAtMs: number;
}

/** Names of fields with times. */
const TIME_NAME = /(?:^|_)at$/;

/**
 * An export as one HTML page for people, without scripts and without other files. It is built row by row: texts of clients and of staff are
 * escaped, since they are hostile.
 */
export class ExportPage {
  readonly #head: PageHead;
  readonly #rows = new Map<ExportPlace, string[]>();

  constructor(head: PageHead) {
    this.#head = head;
  }

  add(place: ExportPlace, row: Readonly<Record<string, unknown>>): void {
    const rows = this.#rows.get(place) ?? [];
    const cells = Object.keys(EXPORT_SECTIONS[place].fields).map((name) => `<td>${shown(name, row[name])}</td>`);
    rows.push(`<tr>${cells.join('')}</tr>`);
    this.#rows.set(place, rows);
  }

  /** `left`: place → rows that did not fit. */
  html(left: Readonly<Record<string, number>>): string {
    const { subject, value, requestedAtMs } = this.#head;
    const places = Object.entries<ExportSection>(EXPORT_SECTIONS) as [ExportPlace, ExportSection][];
    const sections = places.map(([place, section]) => this.#section(place, section, left[place] ?? 0));
    const absent = NOT_EXPORTED.map(({ meaning }) => `<li>${escaped(meaning)}.</li>`);
    return (
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
      `<title>What is kept about a person</title><style>${STYLE}</style></head><body><main>` +
      `<h1>What is kept about a person</h1><p>${escaped(subject)}: <strong>${escaped(value)}</strong>, ` +
      `${timeText(requestedAtMs)}</p>${sections.join('')}` +
      `<section><h2>What this page does not have</h2><ul>${absent.join('')}</ul></section></main></body></html>\n`
    );
  }

  #section(place: ExportPlace, { title, meaning, fields }: ExportSection, left: number): string {
    const rows = this.#rows.get(place) ?? [];
    const head = Object.entries(fields).map(
      ([name, text]) => `<th scope="col">${escaped(name)}<small>${escaped(text)}</small></th>`,
    );
    const more = left === 0 ? '' : `<p>${left} more rows are not shown: the export has reached its size.</p>`;
    const body =
      rows.length === 0
        ? '<p>Nothing was found.</p>'
        : `<div tabindex="0" role="region" aria-label="${escaped(title)}"><table><thead><tr>${head.join('')}</tr></thead>` +
          `<tbody>${rows.join('')}</tbody></table></div>${more}`;
    return `<section><h2>${escaped(title)}</h2><p>${escaped(meaning)}.</p>${body}</section>`;
  }
}

function shown(name: string, value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (TIME_NAME.test(name) && typeof value === 'number') return timeText(value * 1_000);
  return escaped(typeof value === 'string' ? value : JSON.stringify(value, null, 1));
}

function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '–' : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:72rem;margin:0 auto;padding:1.5rem}' +
  'div{overflow-x:auto}table{border-collapse:collapse;font-size:.875rem}th,td{border:1px solid #8888;padding:.4rem .6rem;text-align:left;' +
  'vertical-align:top;overflow-wrap:anywhere;min-width:6rem;white-space:pre-wrap}th small{display:block;font-weight:400;white-space:normal}';
