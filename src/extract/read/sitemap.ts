import { Parser } from 'htmlparser2';
import { SourceFailure } from '../base/connector.ts';
import { isoDate } from './dates.ts';
import { PartTaker, type ListPart } from './list-part.ts';
import { absoluteUrl } from './urls.ts';

/** What a presumed sitemap file turned out to be. */
export type Sitemap =
  | {
      /** `index`: its entries are further sitemaps. */
      readonly kind: SitemapKind;
      /** Entries of the requested part. */
      readonly entries: readonly SitemapEntry[];
      /** Index at which the list continues; null at its end. */
      readonly next: number | null;
      /** The file ends before its closing tag, so an unknown part is missing. */
      readonly breaksOff: boolean;
    }
  /** A feed, which the feed reader reads. Source: sitemaps.org, "Other sitemap formats". */
  | { readonly kind: 'feed' }
  /** Anything else, for example a page that says that there is no sitemap. */
  | { readonly kind: 'none' };

export type SitemapKind = 'urls' | 'index';

export interface SitemapEntry {
  readonly url: string;
  /** ISO 8601. */
  readonly lastModified: string | null;
}

/** Choice: characters given to the parser at once, so that it stops soon after the last URL that is taken. */
const CHUNK_CHARACTERS = 65_536;
/**
 * Choice: the root must start within this many characters. Programs may print warnings or comments of plug-ins before it. The same as for
 * feeds.
 */
const PRINTED_CHARACTERS_MAX = 65_536;
/** Choice: no sitemap format is deeper. */
const DEPTH_MAX = 64;

/**
 * Reads a part of a file from `url` that arrives in chunks, and stops soon after it. Choice: the number of entries is not limited, because
 * the file's size is; sites have more than the 50,000 of the protocol. A truncated or broken file yields what could be read. Throws
 * `parse_failed` on entity declarations, and if elements nest without end: it is then unknown how much of the file is lost.
 */
export class SitemapReader {
  readonly #url: string;
  readonly #part: ListPart<SitemapKind>;
  /** Input buffered until the form of the file is known. */
  #head = '';
  #form: Form | null = null;

  constructor(url: string, part: ListPart<SitemapKind>) {
    this.#url = url;
    this.#part = part;
  }

  /** Kind of the file, once it is known. The content of a feed is not read here. */
  get kind(): Sitemap['kind'] | null {
    return this.#form?.kind ?? null;
  }

  /** Returns false if the rest need not be read. */
  write(piece: string): boolean {
    if (this.#form !== null) return this.#pass(this.#form, piece);
    this.#head = (this.#head + piece).trimStart();
    return this.#head.length < ADDRESS_CHARACTERS || this.#begin();
  }

  /** Call when nothing more will be written. */
  end(): Sitemap {
    if (this.#form === null && this.#head !== '') this.#begin();
    return this.#form?.end() ?? { kind: 'none' };
  }

  #begin(): boolean {
    const isLines = /^https?:\/\//i.test(this.#head);
    this.#form = isLines ? new LineForm(this.#url, this.#part) : new XmlForm(this.#url, this.#part);
    return this.#pass(this.#form, this.#head);
  }

  #pass(form: Form, text: string): boolean {
    for (let at = 0; at < text.length; at += CHUNK_CHARACTERS)
      if (!form.write(text.slice(at, at + CHUNK_CHARACTERS))) return false;
    return true;
  }
}

/** Length of `https://`, which distinguishes a list of addresses from anything else. */
const ADDRESS_CHARACTERS = 8;

interface Form {
  readonly kind: Sitemap['kind'] | null;
  write(text: string): boolean;
  end(): Sitemap;
}

/** Choice: longer lines are not URLs. */
const LINE_CHARACTERS_MAX = 65_536;

/** One URL per line. If the first line is not a URL, the file is something else; later invalid lines are skipped. */
class LineForm implements Form {
  readonly #url: string;
  readonly #taker: PartTaker<SitemapKind, SitemapEntry>;
  /** A line whose end has not arrived yet. */
  #line = '';
  kind: 'urls' | 'none' | null = null;

  constructor(url: string, part: ListPart<SitemapKind>) {
    this.#url = url;
    this.#taker = new PartTaker(part);
  }

  write(text: string): boolean {
    const lines = (this.#line + text).split(/[\r\n]+/);
    this.#line = lines.pop() ?? '';
    if (this.#line.length > LINE_CHARACTERS_MAX) this.kind = 'none';
    return lines.every((line) => this.#take(line)) && this.kind !== 'none';
  }

  end(): Sitemap {
    if (this.kind !== 'none' && this.#taker.next === null) this.#take(this.#line);
    if (this.kind === 'none' || this.#taker.seen === 0) return { kind: 'none' };
    return { kind: 'urls', entries: this.#taker.entries, next: this.#taker.next, breaksOff: false };
  }

  #take(line: string): boolean {
    if (line.trim() === '') return true;
    const found = /^\s*https?:\/\//i.test(line) ? absoluteUrl(line, this.#url) : null;
    this.kind ??= found === null ? 'none' : 'urls';
    return found === null ? this.kind === 'urls' : this.#taker.take({ url: found, lastModified: null }, 'urls');
  }
}

interface State {
  kind: Sitemap['kind'] | null;
  /** Local names of open elements. */
  readonly path: string[];
  readonly taker: PartTaker<SitemapKind, SitemapEntry>;
  text: string;
  location: string | null;
  lastModified: string | null;
  refused: boolean;
  isTooDeep: boolean;
  isWhole: boolean;
}

const KINDS: Readonly<Record<string, Sitemap['kind']>> = {
  urlset: 'urls',
  sitemapindex: 'index',
  rss: 'feed',
  feed: 'feed',
  rdf: 'feed',
  html: 'none',
};

/** Skips markup and text before the root element. An `html` root or doctype means that the file is a page. */
class XmlForm implements Form {
  readonly #url: string;
  readonly #state: State;
  readonly #parser: Parser;
  #characters = 0;

  constructor(url: string, part: ListPart<SitemapKind>) {
    this.#url = url;
    this.#state = {
      kind: null,
      path: [],
      taker: new PartTaker(part),
      text: '',
      location: null,
      lastModified: null,
      refused: false,
      isTooDeep: false,
      isWhole: false,
    };
    this.#parser = listen(this.#state, url);
  }

  get kind(): Sitemap['kind'] | null {
    return this.#state.kind;
  }

  write(text: string): boolean {
    this.#parser.write(text);
    this.#characters += text.length;
    if (this.#characters >= PRINTED_CHARACTERS_MAX) this.#state.kind ??= 'none';
    return !isDone(this.#state);
  }

  end(): Sitemap {
    const { kind, taker, refused } = this.#state;
    if (refused) throw new SourceFailure('parse_failed', `${this.#url} declares entities`, false);
    if (kind !== 'urls' && kind !== 'index') return { kind: kind ?? 'none' };
    if (this.#state.isTooDeep) throw new SourceFailure('parse_failed', `${this.#url} nests without an end`, false);
    return { kind, entries: taker.entries, next: taker.next, breaksOff: taker.next === null && !this.#state.isWhole };
  }
}

function isDone(state: State): boolean {
  const { kind, refused, isTooDeep, taker } = state;
  return kind === 'feed' || kind === 'none' || refused || isTooDeep || taker.next !== null;
}

/** The parser reports no errors. It is never told that the input ended, so that a truncated element does not count as complete. */
function listen(state: State, url: string): Parser {
  return new Parser(
    {
      onprocessinginstruction(name, data) {
        if (/^!entity$/i.test(name) || /<!ENTITY/i.test(data)) state.refused = true;
        if (/^!doctype\s+html\b/i.test(data)) state.kind ??= 'none';
      },
      onopentagname(name) {
        const local = localName(name);
        const kind = state.kind === null ? KINDS[local] : undefined;
        if (kind !== undefined) beginAt(state, kind);
        state.path.push(local);
        state.isTooDeep ||= state.path.length > DEPTH_MAX;
        state.text = '';
      },
      ontext(text) {
        if (state.text.length < CHUNK_CHARACTERS) state.text += text;
      },
      onclosetag() {
        closeTag(state, url);
        if (state.path.length === 0 && state.kind !== null) state.isWhole = true;
      },
    },
    { xmlMode: true },
  );
}

/** Starts at the root element and forgets the elements before it, which may be unclosed. */
function beginAt(state: State, kind: Sitemap['kind']): void {
  state.kind = kind;
  state.path.length = 0;
  state.isTooDeep = false;
}

/** Extensions (images, videos, news) have a `loc` of their own, one level deeper. */
function closeTag(state: State, url: string): void {
  const name = state.path.pop() ?? '';
  const isEntrys = state.path.length === 2;
  if (isEntrys && name === 'loc') state.location ??= absoluteUrl(state.text, url);
  if (isEntrys && name === 'lastmod') state.lastModified ??= isoDate(state.text);
  if (state.path.length === 1 && (name === 'url' || name === 'sitemap')) {
    const { kind, location, lastModified } = state;
    if (location !== null && (kind === 'urls' || kind === 'index'))
      state.taker.take({ url: location, lastModified }, kind);
    state.location = null;
    state.lastModified = null;
  }
  state.text = '';
}

function localName(name: string): string {
  return (name.split(':').at(-1) ?? '').toLowerCase();
}
