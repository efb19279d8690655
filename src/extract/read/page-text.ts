import { TEXT_CHARACTERS_MAX } from '../base/connector.ts';

/** Replaces white space, including line breaks, by single spaces, and trims the text. */
export function collapse(text: string): string {
  return singleSpaced(text).trim();
}

/**
 * White space that is more than one space, or not an ordinary space. Most spaces are single ones already and stay as they are.
 * Measured: 0.65 µs for 400 characters of text, 3.6 µs if every space is replaced.
 */
const OTHER_SPACES = / \s+|[^\S ]\s*/g;

/** Replaces white space, including line breaks, by single spaces, without trimming. */
export function singleSpaced(text: string): string {
  return text.replaceAll(OTHER_SPACES, ' ');
}

const HAS_CONTROL = /[^\P{Cc}\t\n\r]/u;
const CONTROLS = /[^\P{Cc}\t\n\r]/gu;

/** Removes control characters, such as a backspace that was copied into a title; keeps tabs and line breaks. */
export function withoutControls(text: string): string {
  return HAS_CONTROL.test(text) ? text.replaceAll(CONTROLS, '') : text;
}

/**
 * Returns the text without control characters, truncated to the maximum; null if nothing is left of it. A truncated text has exactly the
 * maximum length, by which records are marked as truncated.
 */
export function orNull(text: string | null | undefined, charactersMax = TEXT_CHARACTERS_MAX): string | null {
  const whole = text === null || text === undefined ? '' : withoutControls(text).trim();
  return whole === '' ? null : whole.slice(0, charactersMax);
}

/** Counts the words of languages that separate them by spaces. In scripts without spaces, each character counts as a word. */
export function wordCount(text: string): number {
  if (!/[^\0-\x7F]/.test(text)) return asciiWords(text);
  const characters = text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu)?.length ?? 0;
  const rest = text.replaceAll(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu, ' ');
  return characters + (rest.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’.-]*/gu)?.length ?? 0);
}

/** Counts words in ASCII text. Measured: 36 µs for 3,500 characters, 60 µs by the expressions above. */
function asciiWords(text: string): number {
  let words = 0;
  let isInside = false;
  for (let i = 0; i < text.length; i++) {
    const kind = KINDS[text.charCodeAt(i)];
    if (kind === BEGINS) {
      if (!isInside) words++;
      isInside = true;
    } else if (kind !== GOES_ON) isInside = false;
  }
  return words;
}

const BEGINS = 1;
const GOES_ON = 2;
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[A-Za-z0-9]/.test(character) ? BEGINS : /['.-]/.test(character) ? GOES_ON : 0;
});

/** Returns a language tag in canonical form (`en_us` → `en-US`); null if it is invalid. */
export function languageTag(text: string | null | undefined): string | null {
  const tag = text?.trim().replaceAll('_', '-') ?? '';
  if (!/^[a-z]{2,3}(?:-[a-z0-9]{1,8}){0,4}$/i.test(tag)) return null;
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? null;
  } catch {
    return null;
  }
}
