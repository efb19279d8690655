import type { DecisionBody } from '../../src/client/client.ts';

/** What the shop's backend tells its page about one form. */
export interface Shown {
  /** The visitor goes on: logged in, signed up, or paid. */
  readonly isIn: boolean;
  readonly answer?: DecisionBody & { readonly contributions: unknown };
  /** The JSON inside the token; null without a readable one. */
  readonly token?: unknown;
  readonly sent?: unknown;
  /** Why there is no decision. */
  readonly failure?: string;
  /** The outcome that was reported. */
  readonly outcome?: string;
  /** The code that a real shop would send by e-mail; with it the visitor is asked for it. */
  readonly code?: string;
}

/** Writes the result as a page for browsers without JavaScript. Text of visitors stays text. */
export function showResult({ isIn, answer, failure, outcome, code }: Shown): string {
  const lines: string[] = [];
  if (failure !== undefined) lines.push(`<p>${escapeHtml(failure)}</p>`);
  if (answer !== undefined) {
    const { decision, score, reasons } = answer;
    lines.push(
      `<div class="verdict"><span class="badge ${decision}">${decision}</span><span class="score">${score} <small>of 100</small></span></div>`,
      reasons.length === 0
        ? '<p class="quiet">No rule fired.</p>'
        : `<ul class="reasons">${reasons.map((reason) => `<li><code>${escapeHtml(reason)}</code></li>`).join('')}</ul>`,
    );
  }
  if (outcome !== undefined) lines.push(`<p>Reported outcome: <code>${escapeHtml(outcome)}</code></p>`);
  if (code !== undefined)
    lines.push(
      `<form action="/act/code" method="post"><label>Code from the e-mail (this demo sends none: ${code}) <input name="code" inputmode="numeric" autocomplete="one-time-code" required /></label><div class="buttons"><button>Go on</button></div></form>`,
    );
  const title = code === undefined ? (isIn ? 'You are in' : 'You cannot go on here') : 'One more proof';
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title} – Fern &amp; Clay</title>
    <link rel="icon" href="/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/shop.css" />
  </head>
  <body>
    <header><a class="name" href="/login.html">Fern &amp; Clay</a></header>
    <main><section class="card"><h1>${title}</h1>${lines.join('\n')}</section></main>
  </body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
