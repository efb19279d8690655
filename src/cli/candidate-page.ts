import type { OperatingRow, RocCurve } from '../learn/operating-table.ts';
import { alarmsText, type CandidateReportFile } from './candidate-figures.ts';
import { htmlPage, htmlTable, htmlText } from './html-page.ts';

/** Choice: no forest leans on more columns than a reader looks at. */
const GAIN_SHOWN = 40;

/** The report of a candidate as one HTML file, without scripts and without links to other files. It names no person. */
export function candidatePage(report: CandidateReportFile): string {
  return htmlPage(
    `Gatehouse: model ${report.id}`,
    `<h1>Model ${htmlText(report.id)}</h1>
${introduction(report)}
<section><h2>Gates</h2>${htmlTable(
      ['Gate', 'Holds', 'Figures'],
      report.gates.map(({ name, holds, detail }) => [name, holds ? 'yes' : 'no', detail]),
      2,
    )}</section>
<section><h2>Caught frauds against false alarms</h2>${rocChart(report.roc)}</section>
<section><h2>Against the rules</h2>${operatingTable('Sessions', [report.all])}${budgetTable(report)}</section>
<section><h2>By event type</h2>${operatingTable('Event type', report.byEventType)}</section>
<section><h2>By source of the label</h2><p class="quiet">A BLOCK is the opinion of the rules, which cannot be judged by it.
</p>${operatingTable('Source', report.bySource)}</section>
<section><h2>What this model has been shown</h2>${shownTables(report)}</section>
<section><h2>Reliability</h2><p class="quiet">How often rows of a probability were fraud, at the prior.</p>${htmlTable(
      ['Probability', 'Rows', 'Predicted', 'Observed'],
      report.reliability.map(({ from, to, rows, predicted, observed }) => [
        `${from} to ${to}`,
        String(rows),
        share(predicted),
        share(observed),
      ]),
    )}</section>
<section><h2>First day of a customer</h2>${firstDayText(report)}</section>
<section><h2>Honest sessions that moved most</h2><p class="quiet">The rules let them pass.</p>${movedTable(report)}</section>
<section><h2>Columns by gain</h2>${htmlTable(
      ['Column', 'Gain'],
      Object.entries(report.gain)
        .slice(0, GAIN_SHOWN)
        .map(([name, gain]) => [name, gain.toFixed(1)]),
    )}</section>
<section><h2>Flagged columns</h2><p>${
      report.flaggedColumns.length === 0
        ? 'Left out: columns that tell integrations or hours apart.'
        : `In this model, although they tell integrations or hours apart: ${htmlText(report.flaggedColumns.join(', '))}.`
    }</p></section>`,
  );
}

function introduction({
  trainedAt,
  prior,
  threshold,
  budget,
  policyHash,
  rows,
  ...report
}: CandidateReportFile): string {
  const chosen = budget === null ? 'without a budget' : `for a budget of ${share(budget)}`;
  return `<p class="quiet">Trained ${htmlText(trainedAt.slice(0, 16).replace('T', ' '))} UTC on ${rows.training} rows under
policy ${htmlText(policyHash ?? 'unknown')}; ${rows.stopping} later rows stopped the training. The figures are those of the
latest ${rows.latest} rows. Budgets are counted on both: ${htmlText(alarmsText(report, budget))}. Threshold ${threshold.toFixed(4)} at a prior of
${share(prior)}, ${chosen}.</p>`;
}

function operatingTable(first: string, rows: readonly OperatingRow[]): string {
  return htmlTable(
    [first, 'Frauds', 'Rules catch', 'Model', 'Both', 'Honest', 'Rules stop', 'Model adds'],
    rows.map((row) => [
      row.group,
      String(row.frauds),
      share(row.rulesCatch),
      share(row.modelCatch),
      share(row.bothCatch),
      String(row.honest),
      share(row.rulesAlarms),
      share(row.addedAlarms),
    ]),
  );
}

function budgetTable({ budgets }: CandidateReportFile): string {
  return htmlTable(
    ['Budget', 'Threshold', 'Alarms added', 'Catch added'],
    budgets.map((row) => [share(row.budget), row.threshold.toFixed(4), share(row.addedAlarms), share(row.addedCatch)]),
  );
}

function shownTables({ labels, leftOut }: CandidateReportFile): string {
  const shown = htmlTable(
    ['Source', 'Fraud rows', 'Honest rows', 'Weight'],
    labels.map(({ source, fraudRows, honestRows, weight }) => [
      source,
      String(fraudRows),
      String(honestRows),
      weight.toFixed(1),
    ]),
  );
  if (leftOut.length === 0) return `${shown}<p class="quiet">One source has the frauds, so none can be left out.</p>`;
  const rows = leftOut.map((row) => [
    row.source,
    String(row.frauds),
    share(row.rulesCatch),
    share(row.withCatch),
    share(row.withoutCatch),
  ]);
  return `${shown}<p class="quiet">Frauds of a source that a small model finds with its labels in training, and without.</p>${htmlTable(
    ['Source', 'Frauds', 'Rules catch', 'With', 'Without'],
    rows,
  )}`;
}

function firstDayText({ firstDay: { honest, rulesStop, modelStops } }: CandidateReportFile): string {
  if (honest === 0) return '<p class="quiet">No row is of the first day of a customer.</p>';
  return `<p>${honest} honest sessions: the rules stop ${rulesStop}, and the model would stop ${modelStops} more. It is silent
on the first day unless the policy says otherwise.</p>`;
}

function movedTable({ moved }: CandidateReportFile): string {
  return htmlTable(
    ['Decision', 'Time', 'Event type', 'Known by', 'Probability', 'Columns'],
    moved.map(({ requestId, atMs, eventType, source, probability, reasons }) => [
      requestId,
      new Date(atMs).toISOString().slice(0, 16).replace('T', ' '),
      eventType,
      source,
      probability.toFixed(4),
      reasons.map(([name, by]) => `${name} ${by < 0 ? '' : '+'}${by.toFixed(2)}`).join(', '),
    ]),
    5,
  );
}

const CHART = { width: 640, height: 360, left: 48, bottom: 28 } as const;

/** The model's curve, and the point of the rules. */
function rocChart({ points, rules, area }: RocCurve): string {
  if (points.length === 0) return '<p class="quiet">The latest rows have no known fraud, or no honest session.</p>';
  const { width, height, left, bottom } = CHART;
  const x = (alarms: number): string => (left + (width - left - 8) * alarms).toFixed(1);
  const y = (caught: number): string => ((height - bottom - 8) * (1 - caught) + 8).toFixed(1);
  const line = points.map(([alarms, caught]) => `${x(alarms)},${y(caught)}`).join(' ');
  const mark =
    rules === null
      ? ''
      : `<circle cx="${x(rules[0])}" cy="${y(rules[1])}" r="5" fill="var(--ink)"/><text x="${Number(x(rules[0])) + 10}" y="${y(rules[1])}">rules</text>`;
  const label = `Area under the curve ${area ?? 0}`;
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}"><line x1="${x(0)}" y1="${y(0)}" x2="${x(1)}" y2="${y(0)}"/>
<line x1="${x(0)}" y1="${y(0)}" x2="${x(0)}" y2="${y(1)}"/><polyline points="${line}" fill="none" stroke="var(--bar)" stroke-width="2"/>${mark}
<text x="${x(0)}" y="${height - 6}">honest sessions stopped, 0 to 100 %</text><text x="0" y="14">100 %</text></svg><p class="quiet">${label}; the
vertical axis is the share of frauds.</p>`;
}

function share(value: number | null): string {
  return value === null ? '' : `${Math.round(value * 10_000) / 100} %`;
}
