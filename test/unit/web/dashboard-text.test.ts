import { describe, expect, test } from 'vitest';
import { cutText, visibleText } from '../../../src/web/dashboard/visible-text.ts';

describe('Text that a client has chosen', () => {
  test('shows characters that cannot be seen as their codes', () => {
    expect(visibleText('a\u202Eb')).toBe('a⟨U+202E⟩b');
    expect(visibleText('a\u0000\u001B[31m\u200B\uFEFF')).toBe('a⟨U+0000⟩⟨U+001B⟩[31m⟨U+200B⟩⟨U+FEFF⟩');
    expect(visibleText('a\nb\tc')).toBe('a⟨U+000A⟩b⟨U+0009⟩c');
    expect(visibleText('\uD800x')).toBe('⟨U+D800⟩x');
    expect(visibleText('\u{E0041}')).toBe('⟨U+E0041⟩');
  });

  test('leaves readable text of any script and emoji as it is', () => {
    const text = 'Straße, 東京, العربية, e\u0301, 🙂';
    expect(visibleText(text)).toBe(text);
  });

  test('is cut between characters, never inside of one', () => {
    expect(cutText('abcdef', 4)).toBe('abc…');
    expect(cutText('abcd', 4)).toBe('abcd');
    expect(cutText('🙂🙂🙂', 3)).toBe('🙂🙂🙂');
    expect(cutText('🙂🙂🙂🙂', 3)).toBe('🙂🙂…');
  });
});
