/** One block of Markdown. Inline marks stay as they are: they are only text. */
export interface MarkdownBlock {
  /** Its place among all, from 0. */
  readonly at: number;
  readonly kind: 'heading' | 'text' | 'item' | 'code' | 'quote';
  readonly text: string;
}

/** Choice: a page shows this much of a record; the copy is complete. */
const BLOCKS_MAX = 500;

/** Splits Markdown into blocks of text. Anything that it does not know, HTML among it, is a text. Linear in the length. */
export function blocksOf(markdown: string): readonly MarkdownBlock[] {
  const blocks: MarkdownBlock[] = [];
  let lines: string[] = [];
  /** The marks that end the code that is open; null outside of code. */
  let fence: string | null = null;
  const put = (kind: MarkdownBlock['kind'], text: string): void => void blocks.push({ at: blocks.length, kind, text });
  const endText = (): void => {
    if (lines.length > 0) put(fence === null ? 'text' : 'code', lines.join('\n'));
    lines = [];
  };
  for (const line of markdown.split('\n')) {
    if (blocks.length >= BLOCKS_MAX) return blocks;
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== null ? mark?.startsWith(fence) === true : mark !== undefined) {
      endText();
      fence = fence === null ? (mark ?? null) : null;
    } else if (fence !== null) lines.push(line);
    else {
      const [, sign = '', rest = ''] = /^ *(#{1,6}|[-*+]|\d{1,9}[.)]|>) +(.*)$/.exec(line) ?? [];
      if (sign === '' && line.trim() !== '') lines.push(line.trim());
      else endText();
      if (sign !== '') put(sign.startsWith('#') ? 'heading' : sign === '>' ? 'quote' : 'item', rest);
    }
  }
  endText();
  return blocks;
}
