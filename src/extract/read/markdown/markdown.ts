import { isTag, isText, type Element, type ParentNode } from 'domhandler';
import { isHidden } from '../hidden.ts';
import { attribute, INLINE_ELEMENTS, UNSEEN_ELEMENTS, type HtmlPage } from '../html.ts';
import { absoluteUrl } from '../urls.ts';
import type { ElementWalk } from './markdown-walk.ts';
import { codeBlockOf, codeSpanOf, numberedCode, codeTextOf } from './markdown-code.ts';
import { escapeMarkdown, MarkdownLine, type BreakForm } from './markdown-line.ts';
import { writeDefinitions, writeList } from './markdown-lists.ts';
import { formulaOf, isShownFormula } from './markdown-math.ts';
import { FootNotes, isBackLink } from './markdown-notes.ts';
import { writeTable } from './markdown-table.ts';
import { MarkdownWriter } from './markdown-writer.ts';
import { imageAddressOf } from './image-address.ts';

export interface MarkdownText {
  readonly text: string;
  /** It was longer than `charactersMax`. */
  readonly isCut: boolean;
}

/**
 * Returns a part of a page as Markdown (GitHub's, with footnotes and formulas) by one walk of its tree. Links are absolute and lead to http
 * or https only; no element of the page's own is written. `skips` leaves elements out, with their content.
 */
export function markdownOf(
  node: ParentNode,
  page: Pick<HtmlPage, 'baseUrl' | 'scripts'>,
  skips: (element: Element) => boolean,
  charactersMax: number,
): MarkdownText {
  const walk = new MarkdownWalk(page, skips, charactersMax);
  walk.blocks(node);
  const { isCut } = walk.writer;
  return { text: walk.writer.toString(), isCut };
}

/** Elements that are blocks even if they have only words. */
const BLOCKS = new Set(
  'address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html iframe legend li listing main menu nav ol p pre section summary table tbody td tfoot th thead tr ul video audio xmp'.split(
    ' ',
  ),
);
const HEADING = /^h([1-6])$/;
const MARKS: Readonly<Record<string, string>> = {
  strong: '**',
  b: '**',
  em: '*',
  i: '*',
  cite: '*',
  del: '~~',
  s: '~~',
  strike: '~~',
};
const CODE = new Set(['code', 'kbd', 'samp', 'tt']);
const PREFORMATTED_BLOCKS = new Set(['pre', 'listing', 'xmp']);
const MEDIA = new Set(['iframe', 'video', 'audio']);
/** Classes of links beside headings that lead to the heading itself. */
const ANCHOR =
  /(?:^|\s)(?:anchor|headerlink|header-anchor|heading-anchor|hash-link|anchorjs-link|anchor-link|permalink|heading-link)(?:\s|$)/i;
const ANCHOR_SIGN = /^[\s#¶§🔗​]*$/u;
/** Choice: longer descriptions of images are cut. */
const ALT_CHARACTERS_MAX = 1_000;

/** One walk over a part of a page. */
class MarkdownWalk implements ElementWalk {
  readonly writer: MarkdownWriter;
  readonly #page: Pick<HtmlPage, 'baseUrl' | 'scripts'>;
  readonly #skips: (element: Element) => boolean;
  readonly #notes = new FootNotes();
  /** Whether an element has blocks below it: each is searched once. */
  readonly #withBlocks = new Map<Element, boolean>();
  /** Marks that are open: one within another of its kind is not written. */
  readonly #open = new Set<string>();
  /** Address of a link around blocks, until its first words. */
  #link: string | null = null;

  constructor(
    page: Pick<HtmlPage, 'baseUrl' | 'scripts'>,
    skips: (element: Element) => boolean,
    charactersMax: number,
  ) {
    this.#page = page;
    this.#skips = skips;
    this.writer = new MarkdownWriter(charactersMax);
  }

  blocks(node: ParentNode): void {
    let line = this.line('hard');
    const end = (): void => {
      this.paragraph(line);
      line = this.line('hard');
    };
    for (const child of node.children) {
      if (this.writer.isFull) break;
      if (isText(child)) line.text(child.data);
      if (!isTag(child) || this.isGone(child)) continue;
      const formula = formulaOf(child, this.#page);
      if (formula?.isBlock === true) {
        end();
        this.writer.block(`$$\n${formula.tex}\n$$`);
      } else if (formula === null && this.isBlock(child)) {
        end();
        this.block(child);
      } else this.inline(child, line);
    }
    end();
  }

  line(breakForm: BreakForm): MarkdownLine {
    return new MarkdownLine(this.writer.left, breakForm);
  }

  paragraph(line: MarkdownLine, before = ''): void {
    if (line.isEmpty) return;
    const link = this.#link;
    this.#link = null;
    const text = line.toString();
    this.writer.block(before + (link === null || text.includes('](') ? text : `[${withoutBreaks(text)}](${link})`));
  }

  lineOf(node: ParentNode, breakForm: BreakForm): MarkdownLine {
    const line = this.line(breakForm);
    this.#inlineChildren(node, line);
    return line;
  }

  isGone(element: Element): boolean {
    if (element.name === 'script' && /^math\/tex/i.test(element.attribs['type'] ?? '')) return false;
    if (element.name !== 'iframe' && UNSEEN_ELEMENTS.has(element.name)) return true;
    if (this.#skips(element) || isBackLink(element) || isShownFormula(element)) return true;
    return isHidden(element) || /(?:^|\s)mw-editsection(?:\s|$)/.test(element.attribs['class'] ?? '');
  }

  isBlock(element: Element): boolean {
    return BLOCKS.has(element.name) || this.hasBlocks(element);
  }

  hasBlocks(element: Element): boolean {
    const before = this.#withBlocks.get(element);
    if (before !== undefined) return before;
    const has = element.children.some((child) => isTag(child) && this.isBlock(child));
    this.#withBlocks.set(element, has);
    return has;
  }

  isNote(element: Element): boolean {
    return this.#notes.labelOfBody(element) !== null;
  }

  block(element: Element): void {
    const label = this.#notes.labelOfBody(element);
    if (label !== null) {
      this.#notes.begin(element);
      this.writer.within(`[^${label}]: `, '    ', () => this.block(element));
      return;
    }
    const { name } = element;
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined && !this.hasBlocks(element)) {
      this.paragraph(this.#headingLine(element), `${'#'.repeat(Number(level))} `);
    } else if (PREFORMATTED_BLOCKS.has(name)) this.#code(element, element);
    else if (MEDIA.has(name)) this.#media(element);
    else this.#structure(element);
  }

  /** Writes an element that is a structure of further blocks. */
  #structure(element: Element): void {
    switch (element.name) {
      case 'hr':
        this.writer.block('***');
        return;
      case 'blockquote':
        this.writer.within('> ', '> ', () => this.blocks(element));
        return;
      case 'ul':
      case 'ol':
      case 'menu':
        writeList(this, element);
        return;
      case 'dl':
        writeDefinitions(this, element);
        return;
      case 'table': {
        const code = numberedCode(element);
        if (code === null) writeTable(this, element);
        else this.#code(code, element);
        return;
      }
      case 'figcaption':
      case 'caption':
        this.#marked(element, '*');
        return;
      case 'summary':
        this.#marked(element, '**');
        return;
      case 'a':
        this.#linkedBlocks(element);
        return;
      default:
        this.blocks(element);
    }
  }

  #headingLine(element: Element): MarkdownLine {
    const line = this.line('space');
    for (const child of element.children) {
      if (isText(child)) line.text(child.data);
      if (isTag(child) && !isAnchor(child) && child.name !== 'button') this.inline(child, line);
    }
    return line;
  }

  /** Writes a short block between marks; a longer one as it is. */
  #marked(element: Element, mark: string): void {
    if (this.hasBlocks(element)) {
      this.blocks(element);
      return;
    }
    const line = this.line('space');
    this.#between(mark, line, () => this.#inlineChildren(element, line));
    this.paragraph(line);
  }

  #linkedBlocks(element: Element): void {
    const outer = this.#link;
    this.#link = this.#address(attribute(element, 'href'));
    this.blocks(element);
    this.#link = outer;
  }

  #code(pre: Element, outer: Element): void {
    const code = codeBlockOf(pre, outer);
    if (code === null) return;
    const { fence, language, text } = code;
    this.writer.block(`${fence}${language}\n${text}`, fence);
  }

  #media(element: Element): void {
    const source = element.children.find((child) => isTag(child) && child.name === 'source');
    const given = attribute(element, 'src') ?? (source === undefined ? null : attribute(source as Element, 'src'));
    const url = this.#address(given);
    if (url !== null) this.writer.block(`[${element.name}](${url})`);
    else if (element.name !== 'iframe') this.blocks(element);
  }

  /** Writes an element into a line. Blocks in it are set apart. */
  inline(element: Element, line: MarkdownLine): void {
    if (this.writer.left.characters <= 0 || this.isGone(element)) return;
    const formula = formulaOf(element, this.#page);
    if (formula !== null) {
      line.raw(`$${formula.tex}$`);
      return;
    }
    const { name } = element;
    const mark = MARKS[name];
    if (mark !== undefined) this.#between(mark, line, () => this.#inlineChildren(element, line));
    else if (CODE.has(name) || PREFORMATTED_BLOCKS.has(name)) line.raw(codeSpanOf(codeTextOf(element)));
    else if (name === 'br') line.lineBreak();
    else if (name === 'img') this.#image(element, line);
    else if (name === 'a') this.#anchor(element, line);
    else if (name === 'sup' || name === 'sub') this.#raised(element, line);
    else this.#plain(element, line);
  }

  #inlineChildren(node: ParentNode, line: MarkdownLine): void {
    for (const child of node.children) {
      if (isText(child)) line.text(child.data);
      if (isTag(child)) this.inline(child, line);
    }
  }

  #plain(element: Element, line: MarkdownLine): void {
    const { name } = element;
    const isApart = BLOCKS.has(name) && name !== 'td' && name !== 'th';
    const edge = (): void => (isApart ? line.lineBreak() : line.space());
    if (INLINE_ELEMENTS.has(name)) {
      this.#inlineChildren(element, line);
      return;
    }
    edge();
    if (name === 'li') line.raw('- ');
    this.#inlineChildren(element, line);
    edge();
  }

  #between(mark: string, line: MarkdownLine, write: () => void, closing = mark): void {
    if (this.#open.has(mark)) {
      write();
      return;
    }
    this.#open.add(mark);
    line.open(mark);
    write();
    line.close(mark, closing);
    this.#open.delete(mark);
  }

  #raised(element: Element, line: MarkdownLine): void {
    const only = element.children.find((child) => isTag(child));
    const label = only !== undefined && only.name === 'a' ? this.#notes.labelOfLink(only, true) : null;
    const { name } = element;
    if (label !== null) line.raw(`[^${label}]`);
    else this.#between(`<${name}>`, line, () => this.#inlineChildren(element, line), `</${name}>`);
  }

  #anchor(element: Element, line: MarkdownLine): void {
    const label = this.#notes.labelOfLink(element, false);
    if (label !== null) {
      line.raw(`[^${label}]`);
      return;
    }
    const url = this.#address(attribute(element, 'href'));
    if (url === null) this.#inlineChildren(element, line);
    else this.#between('[', line, () => this.#inlineChildren(element, line), `](${url})`);
  }

  #image(element: Element, line: MarkdownLine): void {
    const url = this.#address(imageAddressOf(element));
    if (url === null || attribute(element, 'width') === '1') return;
    const alt = (attribute(element, 'alt') ?? '').slice(0, ALT_CHARACTERS_MAX).replaceAll(/\s+/g, ' ');
    line.raw(`![${escapeMarkdown(alt)}](${url})`);
  }

  /** Returns an address that can stand between the parentheses of a link, also in a table; null if it may not be linked to. */
  #address(given: string | null): string | null {
    const url = given === null ? null : absoluteUrl(given, this.#page.baseUrl);
    return url === null ? null : url.replaceAll(/[()|\\<>`]/g, encoded);
  }
}

function encoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function withoutBreaks(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ');
}

function isAnchor(element: Element): boolean {
  if (element.name !== 'a') return false;
  if (ANCHOR.test(element.attribs['class'] ?? '')) return true;
  const href = attribute(element, 'href');
  return href !== null && href.includes('#') && ANCHOR_SIGN.test(codeTextOf(element));
}
