import { describe, expect, test } from 'vitest';
import { readArticle } from '../../src/extract/read/article.ts';
import { CONTENT_FORMS } from '../../src/extract/read/content-forms.ts';
import { readHtml } from '../../src/extract/read/html.ts';
import { READING_PAGES } from './pages.ts';
import { scoreWords } from './score.ts';

const URL_OF_PAGE = 'https://manual.example/part/two.html';
const PLAIN =
  '<p>Boats leave from the lower quay at seven, and come back when the tide allows it, which is rarely late.</p>';

function read(body: string): { readonly markdown: string; readonly html: string } {
  const page = readHtml(`<body><nav>Start</nav><main>${body}${PLAIN.repeat(3)}</main></body>`, URL_OF_PAGE);
  const { markdown, html } = readArticle(page, {}, CONTENT_FORMS)?.marked ?? {};
  return { markdown: markdown ?? '', html: html ?? '' };
}

/** Markup as documentation, forum and wiki software writes it → what its Markdown must have, and must not have. */
const PROPERTIES: readonly (readonly [string, string, readonly RegExp[], readonly RegExp[]])[] = [
  [
    'an anchor beside a heading is left out',
    '<h2>Moor<a class="header-anchor" href="#moor">¶</a></h2>',
    [/^## Moor$/m],
    [/¶/],
  ],
  [
    'code by lines has its language and no button',
    '<div class="language-js box"><pre class="prism-code"><code><span class="token-line">let a;<br></span><span class="token-line">  a++;<br></span></code></pre><button>Copy</button></div>',
    [/^```js\nlet a;\n {2}a\+\+;\n```$/m],
    [/Copy/],
  ],
  [
    'the language of an outer element counts',
    '<div class="highlight-rust notranslate"><div class="highlight"><pre><span>fn</span> f() {}\n</pre></div></div>',
    [/^```rust\nfn f\(\) \{\}\n```$/m],
    [],
  ],
  [
    'a column of line numbers is left out',
    '<div class="highlight"><table><tr><td class="gutter"><pre>1\n2</pre></td><td class="code"><pre>one\ntwo</pre></td></tr></table></div>',
    [/^```\none\ntwo\n```$/m],
    [/^\|/m],
  ],
  [
    'boxes of a list are ticked',
    '<ul><li><input type="checkbox" checked> row</li><li><input type="checkbox"> sail</li></ul>',
    [/^- \[x\] row\n- \[ \] sail$/m],
    [],
  ],
  [
    'links and images are absolute',
    '<p>See <a href="../rules">rules</a>, <img data-src="/a.png" src="data:image/gif;base64,R0" alt="Quay">, <a href="javascript:alert(1)">no</a>.</p>',
    [/\[rules\]\(https:\/\/manual\.example\/rules\)/, /!\[Quay\]\(https:\/\/manual\.example\/a\.png\), no\./],
    [/data:/, /javascript:/],
  ],
  [
    'lists keep their numbers, depth and paragraphs',
    '<ol start="5"><li>five<ul><li>in</li></ul></li><li><p>six</p><p>more</p></li></ol><ul><li>up</li><ul><li>lost</li></ul></ul>',
    [/^5\. five\n {3}- in\n6\. six\n\n {3}more/m, /^- up\n {2}- lost$/m],
    [],
  ],
  [
    'cells over several rows are repeated, and bars are escaped',
    '<table><caption>Fares</caption><tr><th>To</th><th align="right">Fare</th></tr><tr><td rowspan="2">Isle</td><td>4 | 5</td></tr><tr><td>one<br>two</td></tr></table>',
    [/^\| To \| Fare \|\n\| --- \| ---: \|\n\| Isle \| 4 \\\| 5 \|\n\| Isle \| one<br>two \|$/m, /Fares/],
    [],
  ],
  [
    'a table that lays out the page is none',
    '<table role="presentation"><tr><td><h3>West</h3></td><td><p>East.</p></td></tr></table>',
    [/^### West$/m, /^East\.$/m],
    [/^\|/m],
  ],
  [
    'formulas are TeX',
    String.raw`<p>So <span class="katex"><math><annotation encoding="application/x-tex">v^2</annotation></math><span aria-hidden="true">v2</span></span> holds.</p><span class="katex-display"><math display="block"><annotation encoding="application/x-tex">\frac{p}{q}</annotation></math></span>`,
    [/So \$v\^2\$ holds/, /^\$\$\n\\frac\{p\}\{q\}\n\$\$$/m],
    [/v2/],
  ],
  [
    'footnotes are footnotes',
    '<p>It floats<sup><a href="#fn-a">1</a></sup> well.</p><ol><li id="fn-a"><p>Seen twice. <a class="footnote-backref" href="#r">↩</a></p></li></ol>',
    [/floats\[\^1\] well/, /^\[\^1\]: Seen twice\.$/m],
    [/↩/],
  ],
  [
    'signs of the text are escaped, and spaces are outside of marks',
    '<p>Take *.log and my_own_file.</p><p># of boats</p><p>2. May</p><p>- none</p><p><b>bold </b>and <i> thin</i>, <code>q`r</code>, &lt;script&gt;</p>',
    [
      /Take \\\*\.log and my_own_file\./,
      /^\\# of boats$/m,
      /^2\\\. May$/m,
      /^\\- none$/m,
      /^\*\*bold\*\* and \*thin\*, ``q`r``, \\<script>$/m,
    ],
    [],
  ],
];

describe('the Markdown of a page', () => {
  test.each(PROPERTIES)('%s', (_name, body, has, lacks) => {
    const { markdown } = read(body);
    for (const pattern of has) expect(markdown).toMatch(pattern);
    for (const pattern of lacks) expect(markdown).not.toMatch(pattern);
  });

  test('Markdown and HTML have 99.5 % of the words of the texts of the reading set', () => {
    const all = READING_PAGES.map(({ html, url }) => readArticle(readHtml(html, url), {}, CONTENT_FORMS));
    const joined = (form: (one: (typeof all)[number]) => string | null | undefined): string => all.map(form).join('\n');
    const text = joined((one) => one?.text);
    expect(
      scoreWords(
        joined((one) => one?.marked.markdown),
        text,
      ).recall,
    ).toBeGreaterThan(0.995);
    const html = joined((one) => one?.marked.html).replaceAll(/<[^>]*>/g, ' ');
    expect(scoreWords(html, text).recall).toBeGreaterThan(0.995);
  });

  test('hidden text is in no form', () => {
    const { markdown, html } = read('<p hidden>Unseen one</p><div style="display:none">Unseen two</div>');
    expect(markdown + html).not.toContain('Unseen');
  });

  test('HTML has neither scripts nor handlers, and only addresses of the web', () => {
    const { html } = read(
      '<p onclick="a()" style="color:red"><a href="javascript:alert(1)">one</a> <img src="/x.png" onerror="b()"><script>c()</script>&lt;b&gt;</p>',
    );
    expect(html).toContain('<p><a>one</a> <img src="https://manual.example/x.png">&lt;b&gt;</p>');
  });
});

const HOSTILE: Readonly<Record<string, string>> = {
  quotes: '<blockquote>'.repeat(250) + '<p>a</p>'.repeat(20_000),
  'nested lists': '<ul><li>'.repeat(120) + 'a<br>'.repeat(60_000),
  items: `<ul>${'<li>x'.repeat(60_000)}</ul>`,
  spans: `<table>${`<tr>${'<td rowspan=1000 colspan=1000>xxxxxxxxxxxx</td>'.repeat(3)}</tr>`.repeat(2_000)}</table>`,
  'repeated cells': `<table><tr>${`<td rowspan=1000>${'x'.repeat(5_000)}</td>`.repeat(50)}</tr>${'<tr><td>a</td></tr>'.repeat(3_000)}</table>`,
  emphasis: '<b><i>'.repeat(100) + 'word '.repeat(300_000),
  ticks: `<pre>${'`'.repeat(1_000_000)}</pre>`,
  signs: `<p>${'*_[]&amp;lt;~~'.repeat(100_000)}</p>`,
  formulas: '<span class="katex">'.repeat(200) + '<i>a</i>'.repeat(40_000),
  'split tags': '<a href=" JaVaScRiPt:alert(1)">y</a>&lt;<span>script</span>&gt;'.repeat(5_000),
};

describe('hostile pages', () => {
  test.each(Object.entries(HOSTILE))('%s stay within the bound of a field', (_name, body) => {
    const { markdown, html } = read(body);
    expect(markdown).not.toBe('');
    for (const form of [markdown, html]) {
      expect(form.length).toBeLessThanOrEqual(500_000);
      expect(form).not.toMatch(/javascript:|(?<!\\)<script/i);
    }
  });
});
