import { htmlPage, htmlTable, htmlText } from '../html-page.ts';
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
  return htmlPage(
    'Gatehouse: evaluation',
    `<h1>What Gatehouse would have decided</h1>
<p class="quiet">${result.events.toLocaleString('en')} events, ${day(result.from)} to ${day(result.to)}. Policy version
${htmlText(source.policyVersion)}.</p>
<ul class="quiet">${notesOf(evaluated, source)
      .map((note) => `<li>${htmlText(note)}</li>`)
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
${peopleTable(result.people)}</section>`,
  );
}

function figure(name: string, meaning: string, { part, of, share, low, high }: ShareInterval): string {
  const value = share === null ? 'unknown' : `${percent(share)} %`;
  const range =
    low === null || high === null
      ? 'no labels'
      : `${percent(low)} to ${percent(high)} % (95 %), ${part.toLocaleString('en')} of ${of.toLocaleString('en')}`;
  return `<div class="figure"><span>${name}</span><strong>${value}</strong><span>${range}</span><span>${meaning}</span></div>`;
}

function decisionsTable({ decisions }: EvaluationResult): string {
  const rows = Object.entries(decisions).map(([type, counts]) => [
    type === '' ? '(none)' : type,
    ...DECISIONS.map((decision) => counts[decision].toLocaleString('en')),
  ]);
  return htmlTable(['Event type', ...DECISIONS], rows);
}

function rulesTable(rules: readonly EvaluatedRule[]): string {
  const rows = rules.map(({ code, decisive, fired }) => [
    code,
    ...[decisive.fraud, decisive.legitimate, decisive.unlabelled].map((count) => count.toLocaleString('en')),
    (fired.fraud + fired.legitimate + fired.unlabelled).toLocaleString('en'),
  ]);
  return htmlTable(['Rule', 'Fraud', 'Legitimate', 'Unlabelled', 'Fired'], rows);
}

function peopleTable(people: readonly EvaluatedPerson[]): string {
  const rows = people.map(({ name, value, events, flagged, reasons }) => [
    `${name} ${masked(value)}`,
    String(events),
    String(flagged),
    reasons.slice(0, 3).join(', '),
  ]);
  return htmlTable(['Person', 'Events', 'Flagged', 'Last reasons'], rows, 3);
}

function coldStartTable(steps: readonly ColdStartStep[]): string {
  const rows = steps.map((step) => [
    hoursText(step),
    step.events.toLocaleString('en'),
    ...[step.flagged, step.catch, step.false_alarms].map(({ share }) => (share === null ? '' : `${percent(share)} %`)),
  ]);
  return htmlTable(['Time', 'Events', 'Flagged', 'Catch', 'False alarms'], rows);
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
      `<text x="${(x + step / 2).toFixed(1)}" y="${height - 6}" text-anchor="middle">${htmlText(hoursText(one))}</text>`
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
