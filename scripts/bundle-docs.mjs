import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { build } from 'esbuild';

/**
 * Renders docs/*.md and docs/decisions/*.md into dist/docs, for `GET /docs`: each page as HTML and as Markdown, llms.txt, an index for the
 * search, its script and the style sheet. manifest.json lists paths and types, and the server reads it. Part of the build; runs in the
 * project folder, after the compiler.
 *
 * Choice: no compressed copies, which would be a quarter of the package of the server.
 */
const TARGET = 'dist/docs';
const SOURCE = 'docs';

if (process.argv.includes('--help') || process.argv.includes('-h')) {
  console.log(`usage: bundle-docs\n\nRenders ${SOURCE} into ${TARGET}; run it from the project folder.`);
  process.exit(0);
}

const marked = await import('marked').catch(() => null);
if (marked === null) {
  // A tree whose packages are older than its package.json: everything else works.
  console.error('the package marked is not installed, so /docs has no pages: run npm ci');
  process.exit(0);
}

/** In the order of the list; all others follow by their titles. */
const FIRST = [
  'operating',
  'client',
  'challenge',
  'gate',
  'api',
  'signing',
  'webhooks',
  'collector',
  'rules',
  'own-rules',
  'replay',
  'models',
  'data',
  'dashboard',
  'connectors',
  'security',
];
/** For the people who change the source: at the end. */
const LAST = ['contract', 'architecture', 'adding', 'releasing'];

const escapeHtml = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** As GitHub makes anchors: `15.4 Health, readiness` is `154-health-readiness`. */
function slugger() {
  const seen = new Map();
  return (text) => {
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
}

const names = [
  ...readdirSync(SOURCE).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(SOURCE, 'decisions'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `decisions/${name}`),
].map((name) => name.replace(/\.md$/, ''));
const texts = new Map(names.map((name) => [name, readFileSync(join(SOURCE, `${name}.md`), 'utf8')]));
/** Files of docs that pages link to and that are no pages. */
const files = readdirSync(SOURCE).filter((name) => /\.(?:png|json)$/.test(name) && name !== 'openapi.json');

/** Returns where a link leads on the site; null for a file that is not part of it, which is then no link. */
function targetOf(href, page) {
  if (/^(?:https?:|mailto:|#)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const file = posix.join(posix.dirname(page), path);
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  if (file === 'openapi.json') return '/openapi.json';
  if (files.includes(file)) return `/docs/${file}`;
  const name = file.replace(/\.md$/, '');
  return texts.has(name) && file.endsWith('.md') ? `/docs/${name}${suffix}` : null;
}

/** Renders a page: its HTML, its title, and its sections for the search. */
function render(name) {
  const slugOf = slugger();
  const parser = new marked.Marked();
  const sections = [];
  parser.use({
    renderer: {
      heading({ tokens, depth }) {
        const inner = this.parser.parseInline(tokens);
        const text = unescapeHtml(inner.replaceAll(/<[^>]*>/g, ''));
        const id = slugOf(text);
        sections.push({ id, heading: text, depth, text: [] });
        return `<h${depth} id="${escapeHtml(id)}"><a class="anchor" href="#${escapeHtml(id)}">${inner.replaceAll(/<\/?a\b[^>]*>/g, '')}</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const target = targetOf(href, name);
        return target === null ? inner : `<a href="${escapeHtml(target)}">${inner}</a>`;
      },
      image({ href, text }) {
        const target = targetOf(href, name);
        return target === null
          ? escapeHtml(text)
          : `<img src="${escapeHtml(target)}" alt="${escapeHtml(text)}" loading="lazy">`;
      },
      // Comments mark generated parts; the pages have no other HTML of their own.
      html: ({ text }) => (text.trimStart().startsWith('<!--') ? '' : escapeHtml(text)),
    },
  });
  const html = parser
    .parse(texts.get(name))
    .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<pre>', '<pre tabindex="0">')
    // The policy of the pages allows no inline styles.
    .replaceAll(/ align="\w+"/g, '');
  // What stands between two headings is the text of the first.
  const parts = html.split(/<h[1-6] id="[^"]*">[^]*?<\/h[1-6]>/).slice(1);
  for (const [at, section] of sections.entries()) {
    section.text = unescapeHtml(
      (parts[at] ?? '').replaceAll(/<\/?(?:code|em|strong|a)\b[^>]*>/g, '').replaceAll(/<[^>]*>/g, ' '),
    )
      .replaceAll(/\s+/g, ' ')
      .trim();
  }
  const title = sections[0]?.heading ?? name;
  return { name, title, html, sections };
}

function unescapeHtml(text) {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

const pages = names.map(render);
const rank = ({ name }) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length + 1 + LAST.indexOf(name));
const byOrder = (a, b) => rank(a) - rank(b) || a.title.localeCompare(b.title, 'en');
const guides = pages.filter(({ name }) => !name.includes('/')).toSorted(byOrder);
const records = pages.filter(({ name }) => name.includes('/')).toSorted(byOrder);

const hashed = (stem, end, bytes) => {
  const name = `${stem}-${createHash('sha256').update(bytes).digest('hex').slice(0, 8)}.${end}`;
  return { path: `/docs/assets/${name}`, file: name, bytes, isImmutable: true };
};
const bundled = await build({
  entryPoints: ['src/web/docs/docs-search.ts', 'src/web/docs/docs.css'],
  outdir: TARGET,
  bundle: true,
  minify: true,
  write: false,
  format: 'esm',
  target: ['es2022', 'chrome123', 'firefox120', 'safari17.5'],
  tsconfig: 'src/web/tsconfig.json',
  logLevel: 'warning',
});
const contentOf = (end) => Buffer.from(bundled.outputFiles.find(({ path }) => path.endsWith(end))?.contents ?? []);
const script = hashed('search', 'js', contentOf('.js'));
const style = hashed('docs', 'css', contentOf('.css'));

const listOf = (some, current) =>
  some
    .map(({ name, title }) => {
      const mark = name === current ? ' aria-current="page"' : '';
      return `<li><a href="/docs/${name}"${mark}>${escapeHtml(title)}</a></li>`;
    })
    .join('\n');

function pageOf({ name, title, html }) {
  const source = name === '' ? '/docs/llms.txt' : `/docs/${name}.md`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - Gatehouse</title>
<link rel="stylesheet" href="${style.path}">
<script type="module" src="${script.path}"></script>
<link rel="alternate" type="text/markdown" href="${source}">
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="home" href="/docs">Gatehouse</a>
<form role="search" hidden>
<input id="search" type="search" aria-label="Search the documentation" placeholder="Search (/)" autocomplete="off" spellcheck="false">
<div class="results">
<p id="search-status" role="status"></p>
<ul id="found"></ul>
</div>
</form>
</header>
<div class="layout">
<nav aria-label="Pages">
<ul>
${listOf(guides, name)}
</ul>
<h2>Decisions on the design</h2>
<ul>
${listOf(records, name)}
</ul>
</nav>
<main id="content">
${html}
<p class="source">This page as <a href="${source}">${name === '' ? 'llms.txt' : 'Markdown'}</a>.</p>
</main>
</div>
</body>
</html>
`;
}

/** The first paragraph, shortened to its first sentence. */
function summaryOf({ sections }) {
  const [sentence = ''] = /^.*?[.:](?= |$)/.exec(sections[0]?.text ?? '') ?? [];
  return sentence.replace(/:$/, '.').slice(0, 300);
}

const index = {
  name: '',
  title: 'Documentation',
  html: `<h1>Documentation</h1>
<p>These pages belong to the version that serves them. The <a href="/openapi.json">OpenAPI document</a> describes every call.</p>
<ul>
${guides.map((page) => `<li><a href="/docs/${page.name}">${escapeHtml(page.title)}</a>: ${escapeHtml(summaryOf(page))}</li>`).join('\n')}
</ul>`,
};
const llms = `# Gatehouse

> Risk decisions for logins, checkouts and sign-ups, signed webhooks, and extraction from web sites, on a server of your own.

Every page is Markdown. The calls are described by /openapi.json.

## Docs

${guides.map((page) => `- [${page.title}](/docs/${page.name}.md): ${summaryOf(page)}`).join('\n')}

## Optional

${records.map(({ name, title }) => `- [${title}](/docs/${name}.md)`).join('\n')}
`;

/** Choice: a search finds words of the beginning of long sections; the whole text would double the index. */
const SECTION_CHARACTERS_MAX = 1_500;
const searchIndex = [...guides, ...records].flatMap(({ name, title, sections }) =>
  sections.map(({ id, heading, depth, text }) => [
    depth === 1 ? `/docs/${name}` : `/docs/${name}#${id}`,
    title,
    heading,
    text.toLowerCase().slice(0, SECTION_CHARACTERS_MAX),
  ]),
);

const TYPES = {
  html: 'text/html; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json',
  png: 'image/png',
};
const written = [
  { path: '/docs', file: 'index.html', bytes: pageOf(index) },
  { path: '/docs/llms.txt', file: 'llms.txt', bytes: llms },
  { path: '/docs/assets/search.json', file: 'search.json', bytes: JSON.stringify(searchIndex) },
  script,
  style,
  ...pages.flatMap((page) => {
    const file = page.name.replace('/', '-');
    return [
      { path: `/docs/${page.name}`, file: `${file}.html`, bytes: pageOf(page) },
      { path: `/docs/${page.name}.md`, file: `${file}.md`, bytes: texts.get(page.name) },
    ];
  }),
  ...files.map((name) => ({ path: `/docs/${name}`, file: name, bytes: readFileSync(join(SOURCE, name)) })),
];

mkdirSync(TARGET, { recursive: true });
const kept = new Set(['manifest.json']);
for (const { file, bytes } of written) {
  mkdirSync(dirname(join(TARGET, file)), { recursive: true });
  writeFileSync(join(TARGET, file), bytes);
  kept.add(file);
}
const listed = written.map(({ path, file, isImmutable = false }) => {
  return { path, file, type: TYPES[file.slice(file.lastIndexOf('.') + 1)], isImmutable };
});
writeFileSync(join(TARGET, 'manifest.json'), `${JSON.stringify({ files: listed }, null, 2)}\n`);
// A server may be running from this folder.
for (const name of readdirSync(TARGET)) if (!kept.has(name)) rmSync(join(TARGET, name), { recursive: true });
