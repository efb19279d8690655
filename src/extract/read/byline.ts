import type { Element } from 'domhandler';
import type { JsonValue } from '../base/connector.ts';
import { isWithinAside } from './headline-lines.ts';
import { attribute, elementsNamed, findElements, plainText, textBeginning, words, type HtmlPage } from './html.ts';
import { isNodeList, isNode } from './jsonld.ts';
import type { SiteNames } from './site-names.ts';
import { textOfValue, itemTypesOf } from './structured.ts';
import { collapse } from './page-text.ts';
import { writtenDates } from './written-dates.ts';

/** What is known about a page when its authors are determined. */
export interface BylineClues {
  readonly page: HtmlPage;
  /** The `author` of its JSON-LD or microdata. */
  readonly said: JsonValue | undefined;
  readonly names: SiteNames;
  /** BCP 47 tag. */
  readonly language: string | null;
  /** Lines around its headline. */
  readonly lines: () => readonly string[];
}

/**
 * Returns the authors of a page: people before organisations, and machine-readable data before visible text. The site itself is never an
 * author: its role as publisher is another field. Several authors are separated by commas.
 */
export function readByline(clues: BylineClues): string | null {
  const said = (isNodeList(clues.said) ? clues.said : [clues.said]).slice(0, PEOPLE_MAX);
  const authors = (values: readonly (JsonValue | undefined)[]): readonly string[] =>
    values.flatMap((value) => peopleIn(plainText(textOfValue(value)), clues));
  const ways: (() => readonly string[])[] = [
    () => authors(said.filter((value) => !isOrganization(value))),
    () => byMeta(clues),
    () => byMarks(clues),
    () => byLabel(clues),
    () => authors(said.filter(isOrganization)),
  ];
  for (const way of ways) {
    const people = [...new Set(way())];
    if (people.length > 0) return people.join(', ');
  }
  return null;
}

/** Choice: maximum number of authors of one page. */
const PEOPLE_MAX = 100;

function isOrganization(value: JsonValue | undefined): boolean {
  return isNode(value) && itemTypesOf(value).some((type) => type.endsWith('Organization'));
}

const META_NAMES = [
  'author',
  'article:author',
  'parsely-author',
  'dc.creator',
  'dcterms.creator',
  'citation_author',
  'sailthru.author',
  'byl',
];

/** `Moor, Agnes`, as catalogues write a name. */
const FAMILY_FIRST = /^([^,]+),\s*([^,]+)$/;

function byMeta(clues: BylineClues): readonly string[] {
  const metas = elementsNamed(clues.page, 'meta');
  const named = (wanted: string): readonly string[] =>
    metas
      .filter((meta) => (attribute(meta, 'property') ?? attribute(meta, 'name') ?? '').toLowerCase() === wanted)
      .flatMap((meta) => attribute(meta, 'content') ?? [])
      .slice(0, PEOPLE_MAX)
      .map((content) => content.slice(0, BYLINE_CHARACTERS_MAX))
      .map((content) => (wanted === 'citation_author' ? content.replace(FAMILY_FIRST, '$2 $1') : content));
  for (const name of META_NAMES) {
    const people = named(name).flatMap((content) => peopleIn(content, clues));
    if (people.length > 0) return people;
  }
  const [label = ''] = named('twitter:label1');
  return LABEL.test(`${label} `) ? named('twitter:data1').flatMap((content) => peopleIn(content, clues)) : [];
}

/** Classes with which sites mark the author of a page. */
const MARK =
  /(?:^|[\s_-])(?:byline|by-line|authors?|autor(?:in|a|es)?|auteur|autore|yazar|forfatter|författare|writer|vcard|fn|written-?by|posted-?by)(?:$|[\s_-])/i;
/** Classes of related elements: a portrait, a short biography, a list of all authors. */
const NO_MARK =
  /(?:^|[\s_-])(?:bio|box|about|avatar|image|img|photo|picture|description|info|social|list|archive|role|title|job)(?:$|[\s_-])/i;
/** Choice: maximum number of marked elements examined. More are a list of pages, each with its author. */
const MARKS_MAX = 10;

function byMarks(clues: BylineClues): readonly string[] {
  const marked = findElements(clues.page.root, isMark, MARKS_MAX).filter((element) => !isWithinAside(element));
  for (const element of marked) {
    const inner = [isPersonsName, isAuthorLink, hasMark].map((is) => findElements(element, is, MARKS_MAX));
    const parts = inner.find((elements) => elements.length > 0) ?? [element];
    const people = parts.flatMap((part) => peopleIn(textBeginning(part, BYLINE_CHARACTERS_MAX), clues));
    if (people.length > 0) return people;
  }
  return [];
}

function isMark(element: Element): boolean {
  return isAuthorLink(element) || hasMark(element);
}

function isAuthorLink(element: Element): boolean {
  return words(element, 'rel').includes('author') && element.name === 'a';
}

function isPersonsName(element: Element): boolean {
  return words(element, 'itemprop').includes('name') || words(element, 'class').includes('fn');
}

function hasMark(element: Element): boolean {
  if (element.name === 'meta' || element.name === 'link' || element.name === 'body') return false;
  if (words(element, 'itemprop').includes('author')) return true;
  const names = `${attribute(element, 'class') ?? ''} ${attribute(element, 'id') ?? ''}`;
  return MARK.test(names) && !NO_MARK.test(names);
}

/** Words before a name in any language, with or without a colon. */
const LABEL =
  /^[\s|·•–—-]*(?:(?:written|posted|published|reviewed?|reported|words|story|text|article) by|by(?=[\s:])|author|(?:geschrieben|verfasst|veröffentlicht|ein beitrag|text) von|(?:écrit|publié|rédigé|propos recueillis) par|(?:escrito|publicado) por|(?:scritto|pubblicato) da|geschreven door|(?:skriven|skrevet) av|skrevet af|autor(?:in|ka|a)?(?=:)|auteur(?=\s?:)|autore(?=:)|автор(?=[\s:])|текст(?=:)|yazar(?=:)|yazan(?=:)|írta(?=:)|teksti(?=:)|作者|撰文|記者|记者|文(?=[:：/])|글(?=[\s:]))[\s:：/]*/i;

/** Short words before a name, only for languages in which they are not part of a name. */
const SHORT_LABELS: Readonly<Record<string, RegExp>> = {
  de: /^von:?\s+/i,
  fr: /^par:?\s+/i,
  es: /^por:?\s+/i,
  pt: /^por:?\s+/i,
  ca: /^per:?\s+/i,
  it: /^(?:di|da):?\s+/i,
  nl: /^door:?\s+/i,
  sv: /^av:?\s+/i,
  nb: /^av:?\s+/i,
  no: /^av:?\s+/i,
  da: /^af:?\s+/i,
  ro: /^de:?\s+/i,
};

const NAME =
  /^\p{Lu}[\p{L}\p{M}'’.-]*(?:\s+(?:\p{Lu}[\p{L}\p{M}'’.-]*|de|da|van|von|der|den|la|le|di|del|dos|af|bin|al|el))*/u;
/** Choice: maximum number of words in a line besides the name. */
const OTHER_WORDS_MAX = 4;

/**
 * Finds authors in a labelled line around the headline: `by Capt. R. Voss`, `May 8th, 2017 by Bo Hart`, `Geschrieben von Jens Ohlsen am
 * 3.2.2020`.
 */
function byLabel(clues: BylineClues): readonly string[] {
  for (const line of clues.lines()) {
    const [date] = writtenDates(line, clues.language);
    const texts = date === undefined ? [line] : [withoutLeadIn(line.slice(0, date.start)), line.slice(date.end)];
    for (const text of texts.flatMap((one) => one.split(/\s*[|·•]\s*/))) {
      const bare = unlabelled(text, clues.language);
      const name = bare === null ? undefined : NAME.exec(bare)?.[0];
      if (bare === null || name === undefined || wordsIn(bare.slice(name.length)) > OTHER_WORDS_MAX) continue;
      const people = peopleIn(text, clues);
      if (people.length > 0) return people;
    }
  }
  return [];
}

function wordsIn(text: string): number {
  return text.match(/\p{L}+/gu)?.length ?? 0;
}

/** Returns the text after a label; null if there is no label. A short one before a single word is part of a name, as in `Di Maio`. */
function unlabelled(text: string, language: string | null): string | null {
  const bare = text.replace(LABEL, '');
  if (bare !== text) return bare;
  const short = SHORT_LABELS[language?.split('-', 1)[0]?.toLowerCase() ?? ''];
  const rest = short === undefined ? text : text.replace(short, '');
  return rest !== text && /\S\s+\S/.test(rest) ? rest : null;
}

/** Choice: maximum number of characters of one name, with titles. */
const NAME_CHARACTERS_MAX = 100;
/** Choice: maximum number of characters searched for names; ten people take 200. */
const BYLINE_CHARACTERS_MAX = 500;

/** Returns the names in a byline without the surrounding label, date, site name or occupation. */
function peopleIn(given: string | null, clues: BylineClues): readonly string[] {
  const text = collapse(given?.slice(0, BYLINE_CHARACTERS_MAX) ?? '');
  if (text === '' || /^https?:\/\//i.test(text)) return [];
  const bare = unlabelled(text, clues.language);
  const part = (bare ?? text).split(/\s*[|·•]\s*|\s+[–—-]\s+/).find((one) => one !== '') ?? '';
  const [date] = writtenDates(part, clues.language);
  const named = date === undefined ? part : withoutLeadIn(part.slice(0, date.start));
  return named
    .split(/\s*,\s*/)
    .flatMap((one) => (bare === null ? [one] : one.split(AND)))
    .map((one) => nameIn(one, clues))
    .filter((one) => one !== null);
}

/** The last word or day between a name and the date after it. */
const BEFORE_DATE =
  /(?<!\p{L})(?:published|posted|updated|on|am|vom|le|el|il|op|den|em|dne|dnia|at|(?:mon|tues|wednes|thurs|fri|satur|sun)day)$/iu;
/** The longest of these words, and the character before it. */
const BEFORE_DATE_CHARACTERS_MAX = 10;
const SIGN = /[\s,:(]/;

/**
 * Removes such words and signs from the end of the text before a date. Word by word: one expression for all of them takes the cube of the
 * number of signs. Measured: 1.8 s for 500 commas at its first use.
 */
function withoutLeadIn(text: string): string {
  let end = text.length;
  for (;;) {
    while (end > 0 && SIGN.test(text.charAt(end - 1))) end--;
    const word = BEFORE_DATE.exec(text.slice(Math.max(0, end - BEFORE_DATE_CHARACTERS_MAX), end))?.[0];
    if (word === undefined) return text.slice(0, end);
    end -= word.length;
  }
}

/** Between the last two names of a byline. */
const AND = /\s+(?:and|und|et|y|och|og|en|i|и|ve|&)\s+(?=\p{Lu})/u;
/** A person's occupation, if it is a separate part. */
const OCCUPATION =
  /\b(?:editor|reporter|writer|correspondent|journalist|columnist|staff|contributor|redakteur(?:in)?|redaktion|korrespondent(?:in)?|journaliste|rédaction|redacción|redattore|redattrice|redactie|reporterin)$/i;

/** A sentence, a price, an account of the software, or a link beside the byline. */
const NO_NAME =
  /[$€£%?…↩]|\d{3}|[.!?]\s+\p{Lu}\p{Ll}+\s+\p{Ll}+\s|(?:\S+\s+){7}|^(?:admin(?:istrator)?|webmaster|contact(?: us)?|guest|anonymous|unknown|user|help|status|about(?: us)?|privacy|(?:and|back to|get|load|see|show|view)\s.*|\d+ min.*|\S+ team|.*\b(?:billed|coming soon|sign in|log in|read more)\b.*)$/iu;

function nameIn(given: string, { names, language }: BylineClues): string | null {
  const name = (unlabelled(given, language) ?? given).replace(/^\W*@\S+$/, '').trim();
  if (NO_NAME.test(name)) return null;
  const isLabel = `${name} `.replace(LABEL, '') === '';
  if (isLabel || !/\p{L}/u.test(name) || name.length > NAME_CHARACTERS_MAX || /\S@\S|:\/\//.test(name)) return null;
  return names.has(name) || (OCCUPATION.test(name) && !/^\S+\s+\S+\s+\S+\s+\S/.test(name)) ? null : name;
}
