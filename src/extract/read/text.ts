/** Choice: characters of one text field of a record; a long novel's chapter has 50,000. */
export const TEXT_CHARACTERS_MAX = 500_000;

/** White space, line breaks included, becomes single spaces; none at the ends. */
export function collapse(text: string): string {
  return singleSpaced(text).trim();
}

/**
 * White space that is more than one space, or none of the usual kind. Most spaces are single ones already and stay as they are.
 * Measured: 0.65 µs for 400 characters of text, 3.6 µs where every space is replaced.
 */
const OTHER_SPACES = / \s+|[^\S ]\s*/g;

/** White space, line breaks included, becomes single spaces, at the ends too. */
export function singleSpaced(text: string): string {
  return text.replaceAll(OTHER_SPACES, ' ');
}

/** The text, cut to its bound; null where nothing is left of it. */
export function orNull(text: string | null | undefined, charactersMax = TEXT_CHARACTERS_MAX): string | null {
  const cut = text?.slice(0, charactersMax).trim();
  return cut === undefined || cut === '' ? null : cut;
}

/** Words of languages that part them by spaces; of those that do not, each character of their scripts is one. */
export function wordCount(text: string): number {
  if (!/[^\0-\x7F]/.test(text)) return asciiWords(text);
  const characters = text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu)?.length ?? 0;
  const rest = text.replaceAll(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu, ' ');
  return characters + (rest.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’.-]*/gu)?.length ?? 0);
}

/** The same of ASCII alone. Measured: 36 µs for 3,500 characters, 60 µs by the expressions above. */
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

/** A language tag in its usual form (`en_us` → `en-US`); null when it is none. */
export function languageTag(text: string | null | undefined): string | null {
  const tag = text?.trim().replaceAll('_', '-') ?? '';
  if (!/^[a-z]{2,3}(?:-[a-z0-9]{1,8}){0,4}$/i.test(tag)) return null;
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? null;
  } catch {
    return null;
  }
}
