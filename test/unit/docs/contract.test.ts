import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FOLDERS = ['src', 'workers', 'test', 'bench', 'scripts', 'docs'];
const TEXT_FILE = /\.(?:ts|mjs|js|sh|md|json|html|css)$/;

/** Names of documents that the contract replaced, each in two parts, so that this file does not contain them. */
const OLD_NAMES = [
  ['open', 'points'],
  ['risk', 'spec'],
  ['extraction', 'spec'],
].map(([first = '', second = '']) => new RegExp(String.raw`\b${first}[\s*/-]+${second}`, 'i'));
const HEADING = /^#{2,3} (\d+(?:\.\d+)?)\.? /gm;
const DECISION_HEADING = /^### (D-\d{3}) .+\n\nDate: (.+) · Status: (.+)$/gm;
/** Matches `contract, 4.2`. Several numbers are separated by commas, `and` or `to`. */
const CITATION = /\bcontract, (\d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*)/gi;

const contract = readFileSync(join(ROOT, 'docs/contract.md'), 'utf8');
const decisions = readdirSync(join(ROOT, 'docs/decisions'))
  .filter((name) => name !== 'README.md')
  .map((name) => readFileSync(join(ROOT, 'docs/decisions', name), 'utf8').replace(/^# .*\n/, ''))
  .join('\n');
const sections = [...contract.matchAll(HEADING)].map(([, number = '']) => number);
const decisionNumbers = [...decisions.matchAll(DECISION_HEADING)].map(([, number = '']) => number);

const FILES = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
)
  .filter((path) => TEXT_FILE.test(path) && path !== relative(ROOT, fileURLToPath(import.meta.url)))
  .concat('README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md')
  .map((path) => ({ path, text: unwrapped(readFileSync(join(ROOT, path), 'utf8')) }));

/** Joins a comment's lines, so that a citation that wraps is found. */
function unwrapped(text: string): string {
  return text.replaceAll(/\n\s*(?:\*|\/\/|#)? ?/g, ' ');
}

/** Returns the anchor that Markdown viewers give a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsOf(path: string): ReadonlySet<string> {
  return new Set(
    [...readFileSync(path, 'utf8').matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)),
  );
}

describe('docs/contract.md', () => {
  test('The contract numbers each section once, in rising order', () => {
    const positions = sections.map((number) => number.split('.').map(Number));
    expect(new Set(sections).size).toBe(sections.length);
    const sorted = positions.toSorted(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d);
    expect(positions).toEqual(sorted);
  });

  test('The contract lists every section in its table of contents, in order', () => {
    const entries = [...contract.matchAll(/^ *- \[(\d+(?:\.\d+)?)\.? [^\]]+\]\(#[^)]+\)$/gm)];
    expect(entries.map(([, number]) => number)).toEqual(sections);
  });

  test('Every citation of the contract names an existing section', () => {
    const missing = FILES.flatMap(({ path, text }) =>
      [...text.matchAll(CITATION)].flatMap(([, list = '']) =>
        list
          .split(/, | and | to /)
          .filter((number) => !sections.includes(number))
          .map((number) => `${path} cites section ${number}`),
      ),
    );
    expect(missing).toEqual([]);
  });

  test('No file names the documents that the contract replaced', () => {
    const old = FILES.filter(({ text }) => OLD_NAMES.some((name) => name.test(text))).map(({ path }) => path);
    expect(old).toEqual([]);
  });
});

describe('docs/decisions', () => {
  test('Every decision record has a unique number, a date and a status', () => {
    const headings = [...decisions.matchAll(/^### (.+)$/gm)];
    const records = [...decisions.matchAll(DECISION_HEADING)];
    expect(records).toHaveLength(headings.length);
    expect(new Set(decisionNumbers).size).toBe(decisionNumbers.length);
    for (const [, , date, status] of records) {
      expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      expect(status).toMatch(/^(?:accepted(?:, refined by .+)?|superseded by .+|rejected)$/);
    }
  });

  test('Every citation of a decision record names an existing number', () => {
    const missing = FILES.flatMap(({ path, text }) =>
      [...text.matchAll(/\bD-\d{3}\b/g)]
        .filter(([number]) => !decisionNumbers.includes(number))
        .map(([number]) => `${path} cites ${number}`),
    );
    expect(missing).toEqual([]);
  });
});

test.each([
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
])('Every link of %s to a file of the repository leads to an existing file and heading', (path) => {
  const links = [...readFileSync(join(ROOT, path), 'utf8').matchAll(/\]\(([^)\s]*)\)/g)].map(
    ([, target = '']) => target,
  );
  const broken = links.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [name = '', anchor] = target.split('#');
    const file = name === '' ? join(ROOT, path) : join(ROOT, dirname(path), name);
    if (!existsSync(file)) return true;
    return anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).has(anchor);
  });
  expect(broken).toEqual([]);
});
