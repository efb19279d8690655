import { describe, expect, test } from 'vitest';
import { type PaletteCommand, findCommands, valueCommands } from '../../../src/web/dashboard/find-commands.ts';

const ID = 'req_01M7XWJVNGTMWB6Q2TT84ZKPK0';
const HASH = 'Ab'.repeat(32);

/** Titles of the commands for a text, and the paths to which they go. */
function found(text: string): readonly (readonly [string, string])[] {
  const paths: string[] = [];
  const link = (path: string, query: Readonly<Record<string, string>> = {}): string =>
    `${path}?${new URLSearchParams(query).toString()}`;
  return valueCommands(text, (path) => paths.push(path), link).map(({ group, run }) => {
    run();
    return [group, paths.pop() ?? ''] as const;
  });
}

describe('Values in the command palette', () => {
  test.each([
    [ID, [['Open', `/dashboard/decisions/${ID}`]]],
    [` ${ID} `, [['Open', `/dashboard/decisions/${ID}`]]],
  ])('an id of a decision opens it: %s', (text, commands) => expect(found(text)).toEqual(commands));

  test.each([
    [HASH, `fingerprint/${HASH.toLowerCase()}`],
    [`fp:${HASH}`, `fingerprint/${HASH.toLowerCase()}`],
    ['203.0.113.7', 'ip/203.0.113.7'],
    ['2001:db8::1', 'ip/2001%3Adb8%3A%3A1'],
    ['::1', 'ip/%3A%3A1'],
    ['203.0.113.0/24', 'network/203.0.113.0%2F24'],
    ['anna@example.com', 'entity.email/anna%40example.com'],
    ['user:7', 'entity.user_id/7'],
    ['entity.Konto:a/b?c', 'entity.Konto/a%2Fb%3Fc'],
    ['session:"a b"', 'session/a%20b'],
  ])('%s opens its links, or the search of decisions', (text, path) => {
    const [open, search, ...others] = found(text);
    expect(open).toEqual(['Open', `/dashboard/links/${path}`]);
    expect(search).toEqual(['Search', `/dashboard/decisions?${new URLSearchParams({ q: text }).toString()}`]);
    expect(others).toEqual([]);
  });

  test.each(['score>70', 'reason:ip_tor', 'tor', 'user:7 user:8', 'fp:short', '<img src=x>', ':', 'email:'])(
    '%s names no single thing and is searched for',
    (text) => expect(found(text).map(([group]) => group)).toEqual(['Search']),
  );

  test('An empty text offers nothing, not a search for nothing', () => {
    expect(found('')).toEqual([]);
    expect(found('   ')).toEqual([]);
  });
});

describe('Pages and actions in the command palette', () => {
  const commands: readonly PaletteCommand[] = [
    ['Page', 'Decisions'],
    ['Page', 'Audit log'],
    ['Action', 'Live on or off'],
    ['Action', 'Load the log'],
  ].map(([group, title]) => ({ group: group as PaletteCommand['group'], title: title ?? '', run: () => undefined }));
  const titles = (text: string): string[] => findCommands(commands, text).map(({ title }) => title);

  test('Every word must be in the title or the group, and titles that begin with the text come first', () => {
    expect(titles('')).toEqual(commands.map(({ title }) => title));
    expect(titles('lo')).toEqual(['Load the log', 'Audit log']);
    expect(titles('LOG page')).toEqual(['Audit log']);
    expect(titles('action l')).toEqual(['Live on or off', 'Load the log']);
    expect(titles('nothing like it')).toEqual([]);
  });
});
