import { isTag, type ChildNode, type Element } from 'domhandler';
import { scriptText, walk, words, type HtmlPage } from '../html.ts';
import { collapse } from '../page-text.ts';

/** A formula in TeX. */
export interface Formula {
  readonly tex: string;
  /** It is a paragraph of its own. */
  readonly isBlock: boolean;
}

/** Classes of the elements into which KaTeX, MathJax, MediaWiki and LaTeXML put a formula. */
const MATH_CLASSES = new Set(['katex', 'katex-display', 'mathjax', 'mathjax_display', 'mwe-math-element', 'ltx_math']);
/** Choice: longer ones are left as their text. */
const TEX_CHARACTERS_MAX = 4_000;
/** Choice: an element with more below it is not a formula. */
const MATH_NODES_MAX = 2_000;

/** Returns the formula that an element shows, if it has its TeX; else null. */
export function formulaOf(element: Element, page: Pick<HtmlPage, 'scripts'>): Formula | null {
  const { name, attribs } = element;
  if (name === 'script') {
    const type = attribs['type'] ?? '';
    return /^math\/tex/i.test(type) ? formula(scriptText(page, element), /mode\s*=\s*display/i.test(type)) : null;
  }
  if (name !== 'math' && name !== 'mjx-container' && !/math|katex/i.test(attribs['class'] ?? '')) return null;
  const classes = words(element, 'class');
  if (name !== 'math' && name !== 'mjx-container' && !classes.some((one) => MATH_CLASSES.has(one))) return null;
  const parts = partsOf(element);
  const tex = firstOf(parts, texOf);
  const isBlock = parts.some(({ attribs: { display } }) => display === 'block' || display === 'true');
  return tex === null ? null : formula(tex, isBlock || classes.some((one) => /display/.test(one)));
}

/** Returns whether MathJax shows here what the script behind it has. */
export function isShownFormula(element: Element): boolean {
  if (!/(?:^|\s)mathjax(?:_\w+)?(?:\s|$)/i.test(element.attribs['class'] ?? '')) return false;
  for (let at: ChildNode | null = element.next, left = 3; at !== null && left > 0; at = at.next, left--)
    if (isTag(at) && at.name === 'script') return /^math\//i.test(at.attribs['type'] ?? '');
  return false;
}

function partsOf(element: Element): readonly Element[] {
  const parts = [element];
  let left = MATH_NODES_MAX;
  walk(element, (node) => {
    if (left-- <= 0) return 'stop';
    if (isTag(node) && isPart(node)) parts.push(node);
    return 'enter';
  });
  return parts;
}

function isPart({ name }: Element): boolean {
  return name === 'annotation' || name === 'math' || name === 'img';
}

function texOf({ name, attribs, children }: Element): string | null {
  if (name === 'annotation' && /tex/i.test(attribs['encoding'] ?? '')) return textIn(children);
  if (name === 'math') return attribs['alttext'] ?? null;
  return name === 'img' && /mwe-math|math|tex/i.test(attribs['class'] ?? '') ? (attribs['alt'] ?? null) : null;
}

function textIn(nodes: readonly ChildNode[]): string {
  return nodes.map((node) => ('data' in node ? node.data : '')).join('');
}

function firstOf<T>(list: readonly Element[], get: (element: Element) => T | null): T | null {
  for (const one of list) {
    const value = get(one);
    if (value !== null) return value;
  }
  return null;
}

/** Whatever shows Markdown without formulas must read neither an element nor a link in it. */
function formula(given: string, isBlock: boolean): Formula | null {
  if (given.length > TEX_CHARACTERS_MAX) return null;
  const inner = /^\s*\{\\(?:display|text)style\s([\s\S]*)\}\s*$/.exec(given)?.[1] ?? given;
  const tex = collapse(inner)
    .replaceAll(/<\s*/g, String.raw`\lt `)
    .replaceAll('](', '] (')
    .replaceAll(/(?<!\\)\$/g, String.raw`\$`);
  return tex === '' ? null : { tex, isBlock };
}
