import type { Watch } from '../../work/watch.ts';
import { changeId, type NumberedChange } from './watch-wire.ts';

/** The changes of a watch as Atom (RFC 4287) and RSS 2.0. All text comes from sources, and is escaped. */

export const FEED_TYPES = { atom: 'application/atom+xml', rss: 'application/rss+xml' } as const;
/** Choice: feed readers show as many; the other formats have all. */
export const FEED_CHANGES_MAX = 100;
const TITLE_CHARACTERS_MAX = 200;
const TEXT_CHARACTERS_MAX = 4_000;

const VERBS = { new: 'New', changed: 'Changed', gone: 'Gone' } as const;

/** `changes`: newest first. */
export function feedOf(format: keyof typeof FEED_TYPES, watch: Watch, changes: readonly NumberedChange[]): string {
  return format === 'atom' ? atomOf(watch, changes) : rssOf(watch, changes);
}

function atomOf(watch: Watch, changes: readonly NumberedChange[]): string {
  const updatedMs = changes[0]?.atMs ?? watch.createdAtMs;
  const entries = changes.map((change) => {
    const { title, link, text } = entryOf(watch, change);
    return [
      '<entry>',
      `<id>urn:gatehouse:watch-change:${changeId(watch, change)}</id>`,
      `<title>${escape(title)}</title>`,
      `<updated>${new Date(change.atMs).toISOString()}</updated>`,
      ...(link === null ? [] : [`<link href="${escape(link)}"/>`]),
      `<category term="${change.kind}"/>`,
      `<content type="text">${escape(text)}</content>`,
      '</entry>',
    ].join('');
  });
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `<id>urn:gatehouse:watch:${watch.id}</id>`,
    `<title>${escape(titleOf(watch))}</title>`,
    `<updated>${new Date(updatedMs).toISOString()}</updated>`,
    '<author><name>Gatehouse</name></author>',
    ...entries,
    '</feed>\n',
  ].join('\n');
}

function rssOf(watch: Watch, changes: readonly NumberedChange[]): string {
  const items = changes.map((change) => {
    const { title, link, text } = entryOf(watch, change);
    return [
      '<item>',
      `<guid isPermaLink="false">${changeId(watch, change)}</guid>`,
      `<title>${escape(title)}</title>`,
      ...(link === null ? [] : [`<link>${escape(link)}</link>`]),
      `<category>${change.kind}</category>`,
      `<pubDate>${new Date(change.atMs).toUTCString()}</pubDate>`,
      `<description>${escape(text)}</description>`,
      '</item>',
    ].join('');
  });
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<rss version="2.0"><channel>',
    `<title>${escape(titleOf(watch))}</title>`,
    `<link>${escape(pageOf(watch) ?? `urn:gatehouse:watch:${watch.id}`)}</link>`,
    '<description>Changes found by a watch</description>',
    ...items,
    '</channel></rss>\n',
  ].join('\n');
}

function titleOf({ name, extraction }: Watch): string {
  return name ?? `${String(extraction['connector'])} ${String(extraction['operation'])}`;
}

interface Entry {
  readonly title: string;
  readonly link: string | null;
  readonly text: string;
}

/** Links to the record, else to the page that the watch reads. */
function entryOf(watch: Watch, { kind, keyJson, recordJson, beforeJson }: NumberedChange): Entry {
  const [key, record, before] = [parsed(keyJson), parsed(recordJson), parsed(beforeJson)];
  const named = ['title', 'name', 'headline']
    .map((name) => record[name] ?? before[name])
    .find((text) => typeof text === 'string');
  const subject = named ?? Object.values(key).map(shown).join(', ');
  const lines = Object.entries(kind === 'changed' ? before : record).map(([name, value]) =>
    kind === 'changed' ? `${name} before: ${shown(value)}` : `${name}: ${shown(value)}`,
  );
  const now = kind === 'changed' ? Object.keys(before).map((name) => `${name} now: ${shown(record[name])}`) : [];
  return {
    title: `${VERBS[kind]}: ${subject}`.slice(0, TITLE_CHARACTERS_MAX),
    link: webAddress(record['url']) ?? webAddress(key['url']) ?? pageOf(watch),
    text: [...now, ...lines].join('\n').slice(0, TEXT_CHARACTERS_MAX),
  };
}

function parsed(json: string | null): Readonly<Record<string, unknown>> {
  return json === null ? {} : (JSON.parse(json) as Readonly<Record<string, unknown>>);
}

function shown(value: unknown): string {
  const { amount, currency, ...others } = Object(value) as Readonly<Record<string, unknown>>;
  if (typeof amount === 'number' && typeof currency === 'string' && Object.keys(others).length === 0)
    return `${amount} ${currency}`;
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Returns the address that the extraction begins with; null if it has none. */
function pageOf({ extraction }: Watch): string | null {
  const input = extraction['input'] as Readonly<Record<string, unknown>> | undefined;
  return webAddress(input?.['url']);
}

/** Returns the address if a reader may follow it, else null. */
function webAddress(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  try {
    const { protocol, href } = new URL(value);
    return protocol === 'https:' || protocol === 'http:' ? href : null;
  } catch {
    return null;
  }
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes text, without the characters that XML 1.0 forbids, halves of surrogates among them. */
function escape(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '')
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');
}
