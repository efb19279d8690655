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
    const fields = Object.entries<string>(EXPORT_SECTIONS[place].fields).flatMap(([name, meaning]) => {
      const value = row[name];
      if (value === null || value === undefined) return [];
      const label = TIME_NAME.test(name) ? meaning.replace(', Unix seconds', '') : meaning;
      return `<dt>${escaped(label)}</dt><dd>${shown(name, value)}</dd>`;
    });
    rows.push(`<li><dl>${fields.join('')}</dl></li>`);
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

  #section(place: ExportPlace, { title, meaning }: ExportSection, left: number): string {
    const rows = this.#rows.get(place) ?? [];
    const more = left === 0 ? '' : `<p>${left} more are not shown: the export has reached its size.</p>`;
    const body = rows.length === 0 ? '<p>Nothing was found.</p>' : `<ol>${rows.join('')}</ol>${more}`;
    return `<section><h2>${escaped(title)}</h2><p>${escaped(meaning)}.</p>${body}</section>`;
  }
}

function shown(name: string, value: unknown): string {
  return TIME_NAME.test(name) && typeof value === 'number' ? timeText(value * 1_000) : escaped(plainText(value));
}

/** Returns a value as text: one line for each element, and `name: value` for the members of an object. */
function plainText(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.map(plainText).join('\n');
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).flatMap(([name, member]) =>
    member === null ? [] : `${name}: ${plainText(member)}`,
  );
  return members.length === 0 ? '–' : members.join('; ');
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
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:48rem;margin:0 auto;padding:1.5rem}' +
  'ol{padding-left:1.5rem}li{border-top:1px solid #8888;padding:.75rem 0}dl{display:grid;grid-template-columns:minmax(7rem,1fr) 2fr;' +
  'gap:.25rem 1rem;margin:0}dt{opacity:.8}dd{margin:0;overflow-wrap:anywhere;white-space:pre-line}';
