import { DECISIONS } from '../../risk/decision.ts';
import type { EvaluatedHistory } from '../../replay/evaluate-history.ts';
import type { ColdStartStep, EvaluatedPerson, EvaluatedRule, EvaluationResult } from '../../replay/evaluation.ts';
import type { ShareInterval } from '../../kernel/wilson.ts';
import { type EvaluationSource, notesOf, percent } from './evaluation-text.ts';

/**
 * The report of an evaluation as one HTML file without scripts and without links to other files, for light and dark screens. The values of
 * people are masked, because the file is made to be forwarded.
 */
export function evaluationPage(evaluated: EvaluatedHistory, source: EvaluationSource): string {
  const { result } = evaluated;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gatehouse: evaluation</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>What Gatehouse would have decided</h1>
<p class="quiet">${result.events.toLocaleString('en')} events, ${day(result.from)} to ${day(result.to)}. Policy version
${text(source.policyVersion)}.</p>
<ul class="quiet">${notesOf(evaluated, source)
    .map((note) => `<li>${text(note)}</li>`)
    .join('')}</ul>
<section class="figures">
${figure('Catch', 'fraud that is challenged, reviewed or blocked', result.catch)}
${figure('False alarms', 'legitimate events that are', result.false_alarms)}
${figure('Flagged', 'all events that are', result.flagged)}
</section>
<section><h2>Decisions by event type</h2>${decisionsTable(result)}</section>
<section><h2>Since the first event</h2><p class="quiet">Share of events that are flagged, by time since the first event:
the service learns who is known.</p>${coldStartChart(result.cold_start)}${coldStartTable(result.cold_start)}</section>
<section><h2>${result.labelled.legitimate > 0 ? 'Rules that cost most' : 'Rules that flag most'}</h2>
<p class="quiet">Events that would not be flagged without the rule.</p>${rulesTable(result.rules.cost)}</section>
<section><h2>Rules that gain most</h2>${rulesTable(result.rules.gain)}</section>
<section><h2>People who are most likely hit wrongly</h2>
<p class="quiet">Flagged, never labelled fraud, with most events that were not flagged. Values are masked.</p>
${peopleTable(result.people)}</section>
</main>
</body>
</html>
`;
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

function figure(name: string, meaning: string, { part, of, share, low, high }: ShareInterval): string {
  const value = share === null ? 'unknown' : `${percent(share)} %`;
  const range =
    low === null || high === null
      ? 'no labels'
      : `${percent(low)} to ${percent(high)} % (95 %), ${part.toLocaleString('en')} of ${of.toLocaleString('en')}`;
  return `<div class="figure"><span>${name}</span><strong>${value}</strong><span>${range}</span><span>${meaning}</span></div>`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[], wide = -1): string {
  if (rows.length === 0) return '<p class="quiet">None.</p>';
  const cell = (tag: 'td' | 'th', value: string, at: number): string =>
    `<${tag}${at === wide ? ' class="wide"' : ''}>${text(value)}</${tag}>`;
  const line = (tag: 'td' | 'th', values: readonly string[]): string =>
    `<tr>${values.map((value, at) => cell(tag, value, at)).join('')}</tr>`;
  return `<div class="scroll" tabindex="0"><table><thead>${line('th', head)}</thead><tbody>${rows
    .map((row) => line('td', row))
    .join('')}</tbody></table></div>`;
}

function decisionsTable({ decisions }: EvaluationResult): string {
  const rows = Object.entries(decisions).map(([type, counts]) => [
    type === '' ? '(none)' : type,
    ...DECISIONS.map((decision) => counts[decision].toLocaleString('en')),
  ]);
  return table(['Event type', ...DECISIONS], rows);
}

function rulesTable(rules: readonly EvaluatedRule[]): string {
  const rows = rules.map(({ code, decisive, fired }) => [
    code,
    ...[decisive.fraud, decisive.legitimate, decisive.unlabelled].map((count) => count.toLocaleString('en')),
    (fired.fraud + fired.legitimate + fired.unlabelled).toLocaleString('en'),
  ]);
  return table(['Rule', 'Fraud', 'Legitimate', 'Unlabelled', 'Fired'], rows);
}

function peopleTable(people: readonly EvaluatedPerson[]): string {
  const rows = people.map(({ name, value, events, flagged, reasons }) => [
    `${name} ${masked(value)}`,
    String(events),
    String(flagged),
    reasons.slice(0, 3).join(', '),
  ]);
  return table(['Person', 'Events', 'Flagged', 'Last reasons'], rows, 3);
}

function coldStartTable(steps: readonly ColdStartStep[]): string {
  const rows = steps.map((step) => [
    hoursText(step),
    step.events.toLocaleString('en'),
    ...[step.flagged, step.catch, step.false_alarms].map(({ share }) => (share === null ? '' : `${percent(share)} %`)),
  ]);
  return table(['Time', 'Events', 'Flagged', 'Catch', 'False alarms'], rows);
}

const CHART = { width: 640, height: 180, left: 44, bottom: 24 } as const;

/** One bar for each step. */
function coldStartChart(steps: readonly ColdStartStep[]): string {
  const most = Math.max(0.01, ...steps.map(({ flagged }) => flagged.share ?? 0));
  const { width, height, left, bottom } = CHART;
  const step = (width - left) / Math.max(1, steps.length);
  const bars = steps.map((one, at) => {
    const tall = ((height - bottom - 16) * (one.flagged.share ?? 0)) / most;
    const x = left + at * step;
    const y = height - bottom - tall;
    return (
      `<rect x="${(x + step * 0.15).toFixed(1)}" y="${y.toFixed(1)}" width="${(step * 0.7).toFixed(1)}" height="${tall.toFixed(1)}"/>` +
      `<text x="${(x + step / 2).toFixed(1)}" y="${height - 6}" text-anchor="middle">${text(hoursText(one))}</text>`
    );
  });
  const axis = `<line x1="${left}" y1="${height - bottom}" x2="${width}" y2="${height - bottom}"/>`;
  const label = `<text x="0" y="14">${percent(most)} %</text><text x="0" y="${height - bottom}">0 %</text>`;
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Share of flagged events by time">${axis}${label}${bars.join('')}</svg>`;
}

function hoursText({ from_hours, to_hours }: ColdStartStep): string {
  return to_hours === null ? `from ${spanText(from_hours)}` : `to ${spanText(to_hours)}`;
}

function spanText(hours: number): string {
  return hours < 48 ? `${hours} h` : `${hours / 24} d`;
}

/** The first two characters, and the domain of an e-mail. */
function masked(value: string): string {
  const at = value.lastIndexOf('@');
  const [name, domain] = at === -1 ? [value, ''] : [value.slice(0, at), value.slice(at)];
  return `${name.slice(0, 2)}…${domain}`;
}

function day(iso: string | null): string {
  return iso === null ? '-' : iso.slice(0, 16).replace('T', ' ');
}

function text(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
