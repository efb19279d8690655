import type { CharactersLeft } from './markdown-line.ts';

/** A block around others: a quote, an item of a list, a footnote. */
interface Container {
  /** What its first line begins with. */
  readonly first: string;
  /** What its other lines begin with. */
  readonly rest: string;
  isBegun: boolean;
}

/**
 * Writes blocks of Markdown one after the other, each behind the marks of what surrounds it. Every character is written once and counted,
 * so the size of the text also limits the time.
 */
export class MarkdownWriter {
  readonly left: CharactersLeft;
  readonly #charactersMax: number;
  readonly #parts: string[] = [];
  readonly #around: Container[] = [];
  #isTight = false;
  #used = 0;
  /** Number of empty lines between blocks so far. */
  gaps = 0;
  /** The text was longer than allowed. */
  isCut = false;

  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax;
    this.left = { characters: charactersMax };
  }

  get isFull(): boolean {
    const isFull = this.left.characters <= 0 || this.#used >= this.#charactersMax;
    if (isFull) this.isCut = true;
    return isFull;
  }

  /** Writes what `write` does into a block. Nothing is left of a block without content. */
  within(first: string, rest: string, write: () => void): void {
    this.#around.push({ first, rest, isBegun: false });
    write();
    this.#around.pop();
  }

  /** Leaves out the empty line before the next block. */
  tighten(isTight = true): void {
    this.#isTight = isTight;
  }

  /** Writes a block of one or more lines. `last` is written even if there is no room, to close what the first line opened. */
  block(text: string, last: string | null = null): void {
    if (text === '' || this.#used >= this.#charactersMax) return;
    if (this.#parts.length > 0) this.#separate();
    this.#isTight = false;
    const firstPrefix = this.#around.map(({ first, rest, isBegun }) => (isBegun ? rest : first)).join('');
    const prefix = this.#around.map(({ rest }) => rest).join('');
    for (const container of this.#around) container.isBegun = true;
    for (const [at, line] of text.split('\n').entries()) {
      if (this.#used >= this.#charactersMax) break;
      this.#line(at === 0 ? firstPrefix : prefix, line, at > 0);
    }
    if (last !== null) this.#parts.push(`\n${prefix}${last}`);
  }

  toString(): string {
    return this.#parts.join('').trimEnd();
  }

  #separate(): void {
    this.#parts.push('\n');
    if (this.#isTight) return;
    this.gaps++;
    const begun = this.#around.filter(({ isBegun }) => isBegun).map(({ rest }) => rest);
    this.#parts.push(`${begun.join('').trimEnd()}\n`);
  }

  #line(prefix: string, line: string, isFurther: boolean): void {
    const whole = line === '' ? prefix.trimEnd() : prefix + line;
    const room = Math.max(0, this.#charactersMax - this.#used);
    const kept = whole.length <= room ? whole : whole.slice(0, room);
    if (kept.length < whole.length) this.isCut = true;
    this.#parts.push(isFurther ? `\n${kept}` : kept);
    this.#used += kept.length + 1;
  }
}
