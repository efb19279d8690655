/**
 * Control characters, separators of lines, zero-width characters, fillers, halves of pairs, and characters that change the direction of
 * text. In evidence, agents and paths they are the client's, and could make a value look like another one.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0]|\p{Variation_Selector}/gu;

/** Returns the text with every character that cannot be seen as its code in angle brackets, `⟨U+202E⟩`. */
export function visibleText(text: string): string {
  return text.replaceAll(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** Returns at most `charactersMax` characters, the last of them an ellipsis if the text was cut; surrogate pairs stay whole. */
export function cutText(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const characters = Array.from(text.slice(0, (charactersMax + 1) * 2));
  return characters.length <= charactersMax ? text : `${characters.slice(0, charactersMax - 1).join('')}…`;
}
