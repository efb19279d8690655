import { isTag, isText, type ChildNode, type Element, type ParentNode } from 'domhandler';
import { findElements, words } from '../html.ts';

/** Returns the text of an element as it is written, with line breaks. */
export function codeTextOf(node: ParentNode): string {
  const parts: string[] = [];
  gatherCode(node, parts, () => false);
  return parts.join('');
}

/** Classes of what programs that colour code put between its lines. */
const BETWEEN_LINES =
  /(?:^|\s)(?:lineno|linenos|linenodiv|line-number|line-numbers|line-numbers-rows|gutter|hljs-ln-numbers|blob-num|ln|rouge-gutter|copy|copy-button|btn-copy)(?:\s|$)/i;
const CODE_LINES = /(?:^|\s)(?:token-line|view-line|code-line|cm-line)(?:\s|$)/;
const LINE_ELEMENTS = new Set(['div', 'p', 'tr', 'li']);

function isBetweenLines({ name, attribs }: Element): boolean {
  return name === 'button' || (name !== 'code' && BETWEEN_LINES.test(attribs['class'] ?? ''));
}

/** Recursive, which is safe because the depth of the tree is limited. */
function gatherCode(node: ParentNode, parts: string[], skips: (element: Element) => boolean): void {
  for (const child of node.children) {
    if (isText(child)) parts.push(child.data);
    else if (!isTag(child) || skips(child)) continue;
    else if (child.name === 'br') parts.push('\n');
    else {
      gatherCode(child, parts, skips);
      const isLine = LINE_ELEMENTS.has(child.name) || CODE_LINES.test(child.attribs['class'] ?? '');
      if (isLine && parts.findLast((part) => part !== '')?.endsWith('\n') !== true) parts.push('\n');
    }
  }
}

/** A block of code. */
export interface FencedCode {
  readonly fence: string;
  /** In lower case; '' if the page does not say it. */
  readonly language: string;
  readonly text: string;
}

/** `outer` is the element that the program which coloured the code put around it. Returns null without code. */
export function codeBlockOf(pre: Element, outer: Element): FencedCode | null {
  const parts: string[] = [];
  gatherCode(pre, parts, isBetweenLines);
  const text = parts.join('').replaceAll(/\r\n?/g, '\n').replace(/^\n/, '').trimEnd();
  if (text.trim() === '') return null;
  return { fence: '`'.repeat(Math.max(3, longestRun(text) + 1)), language: languageOf(pre, outer), text };
}

/** Returns a span of code; '' without any. */
export function codeSpanOf(text: string): string {
  const code = text.replaceAll(/\s+/g, ' ');
  if (code.trim() === '') return '';
  const ticks = '`'.repeat(longestRun(code) + 1);
  return /^`|`$/.test(code) ? `${ticks} ${code} ${ticks}` : ticks + code + ticks;
}

function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

/** Returns the `pre` with the code in a table that has line numbers beside it; null in any other table. */
export function numberedCode(table: Element): Element | null {
  const blocks = findElements(table, ({ name }) => name === 'pre', 3);
  const [first, second] = blocks;
  if (first === undefined || blocks.length > 2) return null;
  const code = second ?? first;
  const isNumbers = second === undefined || /^[\s\d]*$/.test(codeTextOf(first));
  const cells = findElements(table, ({ name }) => name === 'td' || name === 'th', 3).length;
  const isCode = /highlight|rouge|code|hljs/i.test(`${classOf(table)} ${classOf(table.parent)}`);
  return cells <= 2 && (isCode || second !== undefined) && isNumbers ? code : null;
}

const LANGUAGES = [
  /(?:^|\s)(?:language|lang|highlight-source|highlight-text|highlight|brush|source)[-:]\s*([\w+#.-]+)/i,
  /(?:^|\s)(?:sourcecode|hljs|highlight)\s+([\w+#]+)(?:\s|$)/,
];
const NO_LANGUAGE =
  /^(?:none|plain|plaintext|text|default|wrapper|notranslate|copy|block|line-numbers|linenums|highlighter.*|container|source|code)$/i;
/** Choice: how far outside of the code its language may stand. */
const OUTER_ELEMENTS_MAX = 3;
const LANGUAGE_CHARACTERS_MAX = 30;

function languageOf(pre: Element, outer: Element): string {
  const code = findElements(pre, ({ name }) => name === 'code', 1);
  const around: Element[] = [];
  for (let at = outer.parent; at !== null && isTag(at) && around.length < OUTER_ELEMENTS_MAX; at = at.parent)
    around.push(at);
  for (const element of [...code, pre, outer, ...around]) {
    const language = languageIn(element);
    if (language !== null) return language;
  }
  return '';
}

function languageIn(element: Element): string | null {
  const { attribs, name } = element;
  const given = attribs['data-lang'] ?? attribs['data-language'] ?? (name === 'pre' ? attribs['lang'] : undefined);
  const said = given ?? firstMatch(words(element, 'class').join(' '));
  const language = said?.trim().toLowerCase() ?? '';
  if (language.length > LANGUAGE_CHARACTERS_MAX || !/^[\w+#.-]+$/.test(language) || NO_LANGUAGE.test(language))
    return null;
  return language;
}

function firstMatch(classes: string): string | undefined {
  for (const pattern of LANGUAGES) {
    const language = pattern.exec(classes)?.[1]?.replace(/^source-/, '');
    if (language !== undefined && !NO_LANGUAGE.test(language)) return language;
  }
  return undefined;
}

function classOf(node: ChildNode | ParentNode | null): string {
  return node !== null && 'attribs' in node ? (node.attribs['class'] ?? '') : '';
}
