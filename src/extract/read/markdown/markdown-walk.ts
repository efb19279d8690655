import type { Element, ParentNode } from 'domhandler';
import type { BreakForm, MarkdownLine } from './markdown-line.ts';
import type { MarkdownWriter } from './markdown-writer.ts';

/** The walk as lists and tables use it for what they contain. */
export interface ElementWalk {
  readonly writer: MarkdownWriter;
  /** Writes what is below a node as blocks. */
  blocks(node: ParentNode): void;
  block(element: Element): void;
  line(breakForm: BreakForm): MarkdownLine;
  /** Writes words as a block, behind `before`. */
  paragraph(line: MarkdownLine, before?: string): void;
  /** Returns the words below a node in one line. */
  lineOf(node: ParentNode, breakForm: BreakForm): MarkdownLine;
  isGone(element: Element): boolean;
  hasBlocks(element: Element): boolean;
  /** Whether the element is a footnote that the text has referred to. */
  isNote(element: Element): boolean;
}
