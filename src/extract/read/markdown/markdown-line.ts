import { collapse } from '../page-text.ts';

/** Characters that a document may still get, shared by all of its lines. */
export interface CharactersLeft {
  characters: number;
}

/** How a line break within the content is written. */
export type BreakForm = 'hard' | 'space' | 'element';

const BREAKS: Readonly<Record<BreakForm, string>> = { hard: '  \n', space: ' ', element: '<br>' };

/**
 * One paragraph, heading or table cell of Markdown, built piece by piece. White space collapses over the pieces; spaces at the ends of
 * emphasis and links are written outside of their marks, and marks around nothing are left out. Takes linear time.
 */
export class MarkdownLine {
  readonly #left: CharactersLeft;
  readonly #breakForm: BreakForm;
  readonly #parts: string[] = [];
  /** Marks that are open while nothing follows them yet. */
  readonly #opening: string[] = [];
  #space: 'none' | 'space' | 'break' = 'none';
  /** The mark that ends the parts, if the next one of its kind would continue it. */
  #closed: string | null = null;

  constructor(left: CharactersLeft, breakForm: BreakForm) {
    this.#left = left;
    this.#breakForm = breakForm;
  }

  text(data: string): void {
    const words = collapse(data);
    if (/^\s/.test(data)) this.space();
    if (words === '') return;
    this.raw(escapeMarkdown(words));
    if (/\s$/.test(data)) this.space();
  }

  /** Appends Markdown as it is. */
  raw(piece: string): void {
    if (this.#left.characters <= 0 || piece === '') return;
    if (this.#parts.length > 0 && this.#space !== 'none')
      this.#push(this.#space === 'space' ? ' ' : BREAKS[this.#breakForm]);
    this.#space = 'none';
    for (const mark of this.#opening) this.#push(mark);
    this.#opening.length = 0;
    this.#push(piece.length <= this.#left.characters ? piece : piece.slice(0, this.#left.characters));
    this.#closed = null;
  }

  space(): void {
    if (this.#space === 'none') this.#space = 'space';
  }

  lineBreak(): void {
    if (this.#parts.length > 0) this.#space = 'break';
  }

  open(mark: string): void {
    if (this.#space === 'none' && this.#opening.length === 0) {
      if (this.#closed === mark) {
        // Emphasis that ends where the next one begins is one.
        this.#parts.pop();
        this.#closed = null;
        return;
      }
      const last = this.#parts.at(-1);
      // An exclamation mark before a link would make it an image.
      if (mark === '[' && last?.endsWith('!') === true) this.#parts[this.#parts.length - 1] = `${last.slice(0, -1)}\\!`;
    }
    this.#opening.push(mark);
  }

  /** Closes what was opened last. */
  close(mark: string, closing: string = mark): void {
    if (this.#opening.at(-1) === mark) {
      this.#opening.pop();
      return;
    }
    this.#push(closing);
    this.#closed = mark === closing ? mark : null;
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  /** Returns the lines. Those of a paragraph are escaped where they would begin a block of another kind. */
  toString(): string {
    const text = this.#parts.join('');
    return this.#breakForm === 'hard' ? text.split('\n').map(withPlainBeginning).join('\n') : text;
  }

  #push(piece: string): void {
    this.#parts.push(piece);
    this.#left.characters -= piece.length;
  }
}

const SPECIAL = /[\\`*_[\]<]|~(?=~)|&(?=#?\w+;)/g;

/** Escapes what Markdown would read as markup. An underscore within a word is none. */
export function escapeMarkdown(text: string): string {
  return text.replaceAll(SPECIAL, (character, at: number) => {
    const isInWord = character === '_' && /\w/.test(text[at - 1] ?? '') && /\w/.test(text[at + 1] ?? '');
    return isInWord ? character : `\\${character}`;
  });
}

function withPlainBeginning(line: string): string {
  return line
    .replace(/^(?=(?:[-+:]|#{1,6})(?:\s|$)|>|[-=]+$)/, '\\')
    .replace(/^(\d{1,9})([.)])(?=\s|$)/, String.raw`$1\$2`);
}
