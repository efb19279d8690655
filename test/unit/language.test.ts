import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Folders and files that are still being rewritten. The list shrinks until it is empty; nothing is added to it. */
const NOT_YET: readonly string[] = [];

interface Pattern {
  readonly pattern: RegExp;
  readonly reason: string;
}

/**
 * The habits that made the text hardest to read. A text without a match is not yet well written. Strings, and so test titles and
 * command-line texts, are not checked, because they also hold test data. A space in a pattern also matches a line break.
 */
const PATTERNS: readonly Pattern[] = [
  { pattern: /\bbut for\b/, reason: 'archaic: write "except"' },
  { pattern: /\banew\b/, reason: 'archaic: write "again"' },
  { pattern: /\bin place of\b/, reason: 'archaic: write "instead of"' },
  { pattern: /\bwhoever\b/i, reason: 'archaic: name the caller' },
  { pattern: /\bso many\b/, reason: 'vague: name the number' },
  { pattern: /\bnone that\b/, reason: 'negation by "none": write "not" or "no" with the noun' },
  { pattern: /\bhears? of\b/, reason: 'name the call or the event' },
  { pattern: /\b(?:is|are) told\b/, reason: 'write "receives", or name the argument' },
  { pattern: /\bsays so\b/, reason: 'write what is returned, logged or printed' },
  // "Of 60,000 sources 14 % …" is a sentence.
  { pattern: /\bOf (?![\d`])/, reason: 'a fragment that begins with "Of": begin with the noun or the verb' },
];

const COMMENT_WIDTH_MAX = 140;
/** A row of a table in a comment, which cannot be wrapped. */
const TABLE_ROW = /^\s*\* \|/;

interface Text {
  /** Line of the file on which the text begins, from 1. */
  readonly line: number;
  /** Lines without comment markers, joined by line breaks. */
  readonly text: string;
}

const MARKER = /^\s*(?:\/\*\*?|\*\/|\*|\/\/|#!?)\s?|\s*\*\/\s*$/g;

/**
 * Returns one text for each comment. Reads lines rather than tokens: in our code a line that begins with a comment marker is a comment.
 * Strings that contain such a line are checked too, which does no harm.
 */
function commentsIn(source: string, isShell: boolean): Text[] {
  const comments: { line: number; text: string }[] = [];
  let isInBlock = false;
  let isAfterComment = false;
  for (const [at, line] of source.split('\n').entries()) {
    const isOwnLine = isInBlock || (isShell ? /^\s*#/ : /^\s*(?:\/\/|\/\*)/).test(line);
    const trailing = isShell ? null : /[;,{([})\]] \/\/ (.*)$/.exec(line);
    if (isOwnLine) {
      const text = line.replaceAll(MARKER, '');
      const last = comments.at(-1);
      if (isAfterComment && last !== undefined) last.text += `\n${text}`;
      else comments.push({ line: at + 1, text });
      if (!isShell) isInBlock = (isInBlock || /^\s*\/\*/.test(line)) && !line.includes('*/');
    } else if (trailing !== null) comments.push({ line: at + 1, text: trailing[1] ?? '' });
    isAfterComment = isOwnLine && (isInBlock || !line.includes('*/'));
  }
  return comments;
}

/** Blanks code blocks and code spans, and keeps every line where it is. */
function proseOf(markdown: string): Text[] {
  const prose = markdown
    .replaceAll(/^```[\s\S]*?^```/gm, (block) => block.replaceAll(/[^\n]/g, ''))
    .replaceAll(/`[^`\n]*`/g, '`code`');
  return [{ line: 1, text: prose }];
}

const SPACED = PATTERNS.map(({ pattern, reason }) => ({
  name: String(pattern),
  pattern: new RegExp(pattern.source.replaceAll(' ', String.raw`\s+`), `${pattern.flags}g`),
  reason,
}));

/** Returns one line for each match: file, line, pattern and reason. */
function findingsIn(path: string, source: string): string[] {
  const isMarkdown = path.endsWith('.md');
  const texts = isMarkdown ? proseOf(source) : commentsIn(source, !/\.[cm]?[jt]s$/.test(path));
  const found: string[] = [];
  for (const { line, text } of texts) {
    const lineOf = (index: number): number => line + text.slice(0, index).split('\n').length - 1;
    for (const { name, pattern, reason } of SPACED)
      for (const { index } of text.matchAll(pattern)) found.push(`${path}:${lineOf(index)}: ${name}: ${reason}`);
    const withoutUrls = text.replaceAll(/\bhttps?:\/\/\S+/g, (url) => '_'.repeat(url.length));
    for (const { 0: name, index } of withoutUrls.matchAll(/(?:[\w.-]+\/)*[\w-]+\.md\b/g))
      if (!['.', 'docs', dirname(path)].some((folder) => existsSync(join(ROOT, folder, name))))
        found.push(`${path}:${lineOf(index)}: ${name} is not in the repository: cite a document that is`);
  }
  if (isMarkdown) return found;
  const lines = source.split('\n');
  for (const { line, text } of texts)
    for (let at = line; at < line + text.split('\n').length; at++)
      if ((lines[at - 1] ?? '').length > COMMENT_WIDTH_MAX && !TABLE_ROW.test(lines[at - 1] ?? ''))
        found.push(`${path}:${at}: wider than ${COMMENT_WIDTH_MAX} characters: wrap the comment`);
  return found;
}

/** Built files, and types whose texts are those of docs/openapi.json. */
const WRITTEN = /^src\/(?:.+\/)?(?:dist\/|client\/api-types\.ts$)/;

function filesIn(folder: string, name: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => name.test(path))
    .map((path) => join(folder, path).replaceAll('\\', '/'))
    .filter((path) => !WRITTEN.test(path));
}

const FILES: readonly string[] = [
  ...['src', 'workers', 'bench', 'scripts', 'test'].flatMap((folder) => filesIn(folder, /\.(?:[cm]?ts|mjs|sh)$/)),
  ...filesIn('docs', /^[^/\\]+\.md$/),
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
];

const LOOKED_FOR = `${PATTERNS.map(({ pattern }) => String(pattern)).join(' ')}, a comment wider than ${COMMENT_WIDTH_MAX} characters, a missing .md`;

describe('the language of comments and documents', () => {
  test(`No comment and no document contains ${LOOKED_FOR}`, () => {
    expect(FILES.length).toBeGreaterThan(500);
    const checked = FILES.filter((path) => !NOT_YET.some((name) => path === name || path.startsWith(`${name}/`)));
    const found = checked.flatMap((path) => findingsIn(path, readFileSync(join(ROOT, path), 'utf8')));
    expect(found, `Found in comments or documents. Looked for: ${LOOKED_FOR}`).toEqual([]);
  });

  test('Every folder and file that is not checked yet exists', () => {
    expect(NOT_YET.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test.each([
    ['a line comment', 'src/x.ts', 'f();\n  // All\n  // but for one.', 3, 'but for'],
    [
      'a comment that wraps inside a pattern',
      'src/x.ts',
      '/**\n * Read\n * in place\n * of it.\n */',
      3,
      'in place of',
    ],
    ['a trailing comment', 'src/x.ts', ['const a = f(1);', '// whoever calls'].join(' '), 1, 'whoever'],
    ['a fragment after a sentence', 'src/x.ts', '/** Returns it. Of the customer. */', 1, 'Of '],
    ['a comment that is too wide', 'src/x.ts', `f();\n// ${'x'.repeat(140)}`, 2, 'wider than 140'],
    ['a document that does not exist', 'src/x.ts', '// Source: docs/nothing.md, 4.', 1, 'docs/nothing.md'],
    ['a shell comment', 'scripts/x.sh', 'a=1\n# Begins anew.', 2, 'anew'],
    ['prose of a document', 'docs/x.md', 'One\n\nIt is told\nnothing.', 3, 'told'],
  ])('The check finds %s', (_name, path, source, line, pattern) => {
    const found = findingsIn(path, source);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^${path}:${line}: `));
    expect(found[0]).toContain(pattern);
  });

  test.each([
    ['code and strings', 'src/x.ts', "const text = 'anew';\nconst whoever = `so many`;"],
    ['a sentence that begins with "Of" and a number', 'src/x.ts', '// Of 60,000 sources 14 % share both cells.'],
    ['an existing document', 'src/x.ts', '// Source: docs/rules.md.'],
    ['an address', 'src/x.ts', '// Source: https://x.example/nothing.md'],
    ['code in a document', 'docs/x.md', 'One `anew` and\n```\nbut for\n```'],
  ])('The check ignores %s', (_name, path, source) => {
    expect(findingsIn(path, source)).toEqual([]);
  });
});
