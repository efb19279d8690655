import { Tokenizer } from 'htmlparser2';

/** What these hold is not for reading. */
const SILENT: ReadonlySet<string> = new Set(['script', 'style', 'template', 'noscript', 'svg', 'iframe', 'object']);
/** These begin and end a paragraph. */
const PARAGRAPHS: ReadonlySet<string> = new Set(
  'address article aside blockquote dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table ul'.split(
    ' ',
  ),
);
/** These begin a line. */
const LINES: ReadonlySet<string> = new Set(['br', 'li', 'tr', 'option', 'caption']);
const CELLS: ReadonlySet<string> = new Set(['td', 'th']);
/** Space within a line; newlines are ours alone. */
const SPACE = /[^\S\n]*\n[^\S\n]*/g;

/**
 * The text of a piece of HTML: a blank line between paragraphs, one line each for items and rows, a tab between cells, all other
 * space folded. Choice: the tokenizer alone and no tree, because the parser above it looks through its stack at every closing tag,
 * so that many open tags make it quadratic; this is linear whatever it is given.
 */
export function htmlToText(html: string): string {
  if (!/[<&]/.test(html)) return fold(html.replaceAll(/\s+/g, ' '));
  let text = '';
  let silentIn: string | null = null;
  let opened: string | null = null;
  const say = (piece: string): void => {
    if (silentIn === null) text += piece;
  };
  const meet = (start: number, end: number, isOpening: boolean): void => {
    const name = html.slice(start, end).toLowerCase();
    opened = isOpening && silentIn === null ? name : null;
    if (silentIn === null) text += breakOf(name, isOpening);
    if (opened !== null && SILENT.has(opened)) silentIn = opened;
    else if (!isOpening && silentIn === name) silentIn = null;
  };
  const tokens = new Tokenizer(
    { decodeEntities: true },
    {
      ...IGNORED,
      ontext: (start, end) => say(html.slice(start, end).replaceAll(/\s+/g, ' ')),
      ontextentity: (codepoint) => say(String.fromCodePoint(codepoint)),
      onopentagname: (start, end) => meet(start, end, true),
      onclosetag: (start, end) => meet(start, end, false),
      // Of the silent ones only this may close itself; what it then holds is nothing.
      onselfclosingtag: () => {
        if (opened === 'svg') silentIn = null;
      },
    },
  );
  tokens.write(html);
  tokens.end();
  return fold(text);
}

/** A title or a name, which sources write with entities and sometimes with tags: its text on one line; null for none. */
export function plainText(html: string | null): string | null {
  if (html === null) return null;
  const text = htmlToText(html).replaceAll(/\s+/g, ' ');
  return text === '' ? null : text;
}

/** The text of HTML that may not be there; null where it holds no text. */
export function textOfHtml(html: string | null): string | null {
  return html === null ? null : htmlToText(html) || null;
}

function breakOf(name: string, isOpening: boolean): string {
  if (PARAGRAPHS.has(name)) return '\n\n';
  if (LINES.has(name)) return isOpening ? '\n' : '';
  return CELLS.has(name) && !isOpening ? '\t' : '';
}

function fold(text: string): string {
  return text
    .replaceAll(/ {2,}/g, ' ')
    .replaceAll(SPACE, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

const nothing = (): void => undefined;

const IGNORED = {
  onattribdata: nothing,
  onattribentity: nothing,
  onattribend: nothing,
  onattribname: nothing,
  oncdata: nothing,
  oncomment: nothing,
  ondeclaration: nothing,
  onend: nothing,
  onopentagend: nothing,
  onprocessinginstruction: nothing,
};
