import { META } from '../../contract/vocabulary.ts';
import type { JsonObject, JsonValue } from '../base/connector.ts';

/** Fields of a record that the front matter has, each under the first of these names that has a text. */
const TITLES = ['title', 'name', 'headline'];
const URLS = ['url', 'page_url', 'canonical_url'];
const DATES = ['published_at', 'created_at', 'updated_at', 'modified_at', 'last_modified', 'date'];

/**
 * Returns one record as a Markdown document: front matter in YAML with title, URL and date, then its content. A record without content has
 * its other fields as a list.
 */
export function markdownDocument(record: JsonObject): string {
  const meta = record[META];
  const source = typeof meta === 'object' && meta !== null && 'source_url' in meta ? meta['source_url'] : null;
  const head = [
    ['title', firstText(record, TITLES)],
    ['url', firstText(record, URLS) ?? (typeof source === 'string' ? source : null)],
    ['date', firstText(record, DATES)],
  ];
  const lines = head.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${JSON.stringify(value)}`]));
  const body = bodyOf(record);
  return `---\n${lines.join('\n')}\n---\n\n${body === '' ? '' : `${body}\n\n`}`;
}

function firstText(record: JsonObject, names: readonly string[]): string | null {
  for (const name of names) {
    const value = record[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}

function bodyOf(record: JsonObject): string {
  const { markdown } = record;
  if (typeof markdown === 'string') return markdown;
  const text = firstText(record, ['text']);
  if (text !== null) return text.split('\n').map(escapeLine).join('\n\n');
  const given = new Set([META, ...TITLES, ...URLS, ...DATES]);
  return Object.entries(record)
    .filter(([name, value]) => !given.has(name) && value !== null)
    .map(([name, value]) => `- **${escapeLine(name)}**: ${escapeLine(plain(value))}`)
    .join('\n');
}

function plain(value: JsonValue): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/g, ' ');
}

/** Escapes what would be markup in a text that has none. */
function escapeLine(line: string): string {
  return line
    .replaceAll(/[\\`*_[\]<]/g, String.raw`\$&`)
    .replace(/^(?=(?:[-+:>]|#{1,6})(?:\s|$)|[-=]+$)/, '\\')
    .replace(/^(\d{1,9})([.)])(?=\s|$)/, String.raw`$1\$2`);
}
