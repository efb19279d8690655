import { isTag, isText, type Element, type Text } from 'domhandler';
import { attribute } from '../html.ts';
import type { ElementWalk } from './markdown-walk.ts';
import { tickOf } from './markdown-notes.ts';

/** Source: CommonMark, "List items": a number has at most nine digits. */
const NUMBER_MAX = 999_999_999;

/** Writes a list. A list that lacks its item around it belongs to the item before it. */
export function writeList(walk: ElementWalk, list: Element): void {
  const { writer } = walk;
  const isNumbered = list.name === 'ol';
  let number = numberIn(attribute(list, 'start')) ?? 1;
  let isTight = !isNumbered || number === 1;
  let isFirst = !isInItem(list);
  let pad = isNumbered ? '   ' : '  ';
  for (const child of list.children) {
    if (writer.isFull) return;
    if (isText(child)) writeWords(walk, child);
    if (!isTag(child) || walk.isGone(child)) continue;
    const gaps = writer.gaps;
    if (!isFirst) writer.tighten(isTight);
    if (child.name === 'ul' || child.name === 'ol') {
      writer.within(pad, pad, () => writeList(walk, child));
    } else {
      number = numberIn(attribute(child, 'value')) ?? number;
      const mark = isNumbered ? `${number}. ` : '- ';
      pad = ' '.repeat(mark.length);
      writeItem(walk, child, mark, pad);
      number++;
    }
    // An item of several paragraphs is followed by an empty line as well.
    isTight = isFirst || writer.gaps === gaps;
    isFirst = false;
  }
  writer.tighten(false);
}

/** Words of a list that are in no item of it. */
function writeWords(walk: ElementWalk, { data }: Text): void {
  const line = walk.line('hard');
  line.text(data);
  walk.paragraph(line);
}

function writeItem(walk: ElementWalk, item: Element, mark: string, pad: string): void {
  if (walk.isNote(item)) {
    walk.block(item);
    return;
  }
  const tick = tickOf(item);
  const box = tick === null ? '' : tick ? '[x] ' : '[ ] ';
  walk.writer.within(mark + box, pad, () => walk.block(item));
}

function isInItem({ parent }: Element): boolean {
  return parent !== null && isTag(parent) && (parent.name === 'li' || parent.name === 'ul' || parent.name === 'ol');
}

function numberIn(text: string | null): number | null {
  const number = text === null || !/^\d{1,9}$/.test(text) ? null : Number(text);
  return number === null || number > NUMBER_MAX ? null : number;
}

/** Writes a list of terms, each in bold, with their definitions behind a colon. */
export function writeDefinitions(walk: ElementWalk, list: Element): void {
  const { writer } = walk;
  for (const child of list.children) {
    if (writer.isFull) return;
    if (!isTag(child) || walk.isGone(child)) continue;
    if (child.name === 'dt' && !walk.hasBlocks(child)) writeTerm(walk, child);
    else if (child.name === 'dd') writer.within(': ', '  ', () => walk.blocks(child));
    else if (child.name === 'div') writeDefinitions(walk, child);
    else walk.blocks(child);
  }
}

function writeTerm(walk: ElementWalk, term: Element): void {
  const line = walk.lineOf(term, 'space').toString();
  if (line !== '') walk.writer.block(/\*\*/.test(line) ? line : `**${line}**`);
}
