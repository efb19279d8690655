/** Returns a page without scripts and without links to other files, for light and dark screens. `body` is HTML. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${htmlText(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

/** Returns a table; the column `wide` has text. */
export function htmlTable(head: readonly string[], rows: readonly (readonly string[])[], wide = -1): string {
  if (rows.length === 0) return '<p class="quiet">None.</p>';
  const cell = (tag: 'td' | 'th', value: string, at: number): string =>
    `<${tag}${at === wide ? ' class="wide"' : ''}>${htmlText(value)}</${tag}>`;
  const line = (tag: 'td' | 'th', values: readonly string[]): string =>
    `<tr>${values.map((value, at) => cell(tag, value, at)).join('')}</tr>`;
  return `<div class="scroll" tabindex="0"><table><thead>${line('th', head)}</thead><tbody>${rows
    .map((row) => line('td', row))
    .join('')}</tbody></table></div>`;
}

export function htmlText(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

const STYLE = `
:root{color-scheme:light dark;--ground:#fff;--ink:#1a2230;--quiet:#566074;--line:#dfe3ea;--bar:#2f6fdb;--panel:#f5f7fa}
@media (prefers-color-scheme:dark){:root{--ground:#12161d;--ink:#e8ecf3;--quiet:#9aa5b8;--line:#2b3341;--bar:#6ea2ff;--panel:#1a202a}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:24px 16px 64px}
h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.15rem;margin:2.5rem 0 .5rem}
.quiet{color:var(--quiet)}
ul.quiet{padding-left:1.2rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(220px,1fr));gap:12px;margin-top:24px}
.figure{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:16px}
.figure strong{display:block;font-size:2rem;line-height:1.2}
.figure span{display:block;color:var(--quiet);font-size:.875rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:6px 10px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child,td.wide,th.wide{text-align:left}
td.wide{white-space:normal;min-width:14rem}
th{color:var(--quiet);font-weight:600}
svg{display:block;width:100%;height:auto;margin:8px 0 16px}
svg text{fill:var(--quiet);font:12px system-ui,sans-serif}
svg rect{fill:var(--bar)}
svg line{stroke:var(--line)}
`;
