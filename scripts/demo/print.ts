import { DECISIONS } from './play.ts';
import { share, totalsOf, type PersonaResult, type ReasonShare, type Report } from './report.ts';

/**
 * Formats the report as text. Every line is computed from the results, so it changes with the rules. Uses no colours, so that piped output
 * is plain text. `width` is the number of columns of the terminal.
 */

const GROUPS: readonly (readonly [string, (result: PersonaResult) => boolean])[] = [
  ['SHOPPERS', ({ kind }) => kind === 'shopper'],
  ['ATTACKERS, each request reveals them', ({ kind, history }) => kind === 'attacker' && history === null],
  ['ATTACKERS, only history reveals them', ({ kind, history }) => kind === 'attacker' && history !== null],
  ['BROKEN INTEGRATIONS', ({ kind }) => kind === 'integration'],
];

/**
 * Title and figures fit into 80 columns. Additional columns are used for the reasons; with fewer than this many, the reasons get a separate
 * line.
 */
const TITLE_WIDTH = 36;
const REASONS_WIDTH_MIN = 38;
const REASONS_SHOWN = 3;

/** Table of the number of events per persona and decision. */
export function decisionsOf({ personas }: Report, width: number): string {
  const widths = [4, 6, 5, 5, 6, 6, 5];
  const names = ['Sess', 'Events', 'ALLOW', 'WATCH', 'CHALL.', 'REVIEW', 'BLOCK'];
  const lines = [heading(row('Decisions', names, widths), 'most frequent reasons', width)];
  for (const [group, belongs] of GROUPS) {
    lines.push('', group);
    for (const one of personas.filter(belongs)) {
      const cells = [one.sessions, one.events, ...DECISIONS.map((name) => one.decisions[name] || '')].map(String);
      lines.push(...withReasons(row(`  ${one.title}`, cells, widths), one.reasons, width));
    }
  }
  return lines.join('\n');
}

/** Table of the attackers: share of their sessions that were challenged, held or blocked, and of their events from the threshold on. */
export function catchesOf({ personas }: Report, width: number): string {
  const widths = [10, 7, 12, 7];
  const lines = [
    heading(
      row('Challenged, held for review, blocked', ['sessions', '', 'due events', ''], widths),
      'strongest reasons',
      width,
    ),
  ];
  for (const [group, belongs] of GROUPS.filter(([title]) => title.startsWith('ATTACKERS'))) {
    lines.push('', group);
    for (const one of personas.filter(belongs)) {
      const ofSessions = ratio(one.stopped_sessions, one.sessions);
      const ofDue = measuresEvents(one) ? ratio(one.stopped_due_events, one.due_events) : ['', ''];
      const figures = row(`  ${one.title}`, [...ofSessions, ...ofDue], widths);
      lines.push(...withReasons(figures, one.strongest_reasons, width));
    }
  }
  return lines.join('\n');
}

/** Summary of the outcome in words. */
export function readingOf({ personas, ...report }: Report): string {
  const shoppers = personas.filter(({ kind }) => kind === 'shopper');
  const attackers = personas.filter(({ kind }) => kind === 'attacker');
  return [
    ...falseAlarms(shoppers),
    '',
    ...catches(attackers, report),
    ...thresholds(attackers),
    ...missed(attackers),
    ...surprises(personas),
  ].join('\n');
}

function falseAlarms(shoppers: readonly PersonaResult[]): string[] {
  const { events, sessions, stoppedEvents, stoppedSessions } = totalsOf(shoppers);
  return [
    `False alarms: ${ofTotal(stoppedEvents, events)} events of shoppers were challenged or worse,`,
    `              in ${ofTotal(stoppedSessions, sessions)} sessions.`,
    ...shoppers
      .filter((one) => one.stopped_events > 0)
      .map((one) => {
        const reasons = one.strongest_reasons.map(({ reason }) => reason).join(', ');
        return `  ${one.title}: ${one.stopped_events} of ${one.events} (${reasons})`;
      }),
  ];
}

function catches(
  attackers: readonly PersonaResult[],
  { due_catch_rate: dueRate, attacker_decisions: decisions }: Omit<Report, 'personas'>,
): string[] {
  const { sessions, events, stoppedSessions, earlySessions } = totalsOf(attackers);
  const hopeless = totalsOf(attackers.filter(({ expectation }) => expectation.kind === 'not_caught'));
  const due = sessions - earlySessions - hopeless.sessions;
  return [
    `Catch rate:   ${ofTotal(stoppedSessions, sessions)} sessions of attackers were challenged, held for review or blocked.`,
    `              Their ${events} events by decision: ${DECISIONS.map((name) => `${decisions[name]} ${name}`).join(', ')}.`,
    `              ${earlySessions} sessions end before the threshold for their kind,`,
    `              ${hopeless.sessions} are of kinds that rules cannot distinguish from shoppers;`,
    `              of the other ${due} sessions it was ${percent(dueRate)}.`,
  ];
}

function thresholds(attackers: readonly PersonaResult[]): string[] {
  return [
    '',
    'Due are all events from the threshold of the rule that must catch their kind:',
    ...attackers.flatMap(({ title, expectation }) =>
      expectation.kind === 'caught' && expectation.measure === 'events'
        ? [`  ${title.padEnd(TITLE_WIDTH)}${expectation.from}`]
        : [],
    ),
  ];
}

function missed(attackers: readonly PersonaResult[]): string[] {
  return [
    '',
    'Not caught, as expected:',
    ...attackers.flatMap(({ title, expectation }) =>
      expectation.kind === 'not_caught' ? [`  ${title}:`, `    ${expectation.why}.`] : [],
    ),
  ];
}

/** Personas whose results differ from the demo's expectation: an error of the rules, of the velocity store or of the persona. */
function surprises(personas: readonly PersonaResult[]): string[] {
  const unexpected = personas.filter((one) => !one.as_expected);
  if (unexpected.length === 0) return [];
  return ['', 'NOT AS EXPECTED:', ...unexpected.map(({ title, expectation }) => `  ${title} (${expectation.kind})`)];
}

/** Formats a row: left-aligned title, right-aligned cells. */
function row(title: string, cells: readonly string[], widths: readonly number[]): string {
  return title.padEnd(TITLE_WIDTH) + cells.map((cell, i) => cell.padStart((widths[i] ?? 0) + 1)).join('');
}

/** Appends `label` as the heading of the reasons when they have a column. */
function heading(names: string, label: string, width: number): string {
  return width - names.length - 2 < REASONS_WIDTH_MIN ? names.trimEnd() : `${names}  ${label}`;
}

/** Appends as many reasons as fit behind the figures; in a narrow terminal one reason on a separate line. */
function withReasons(figures: string, reasons: readonly ReasonShare[], width: number): string[] {
  const [first, ...others] = reasons.slice(0, REASONS_SHOWN).map(({ reason, share }) => `${reason} ${percent(share)}`);
  if (first === undefined) return [figures.trimEnd()];
  const room = width - figures.length - 2;
  if (room < REASONS_WIDTH_MIN) return [figures.trimEnd(), `      ${first}`];
  let text = first;
  for (const other of others) {
    if (text.length + 2 + other.length > room) break;
    text += `, ${other}`;
  }
  return [`${figures}  ${text}`];
}

function measuresEvents({ expectation }: PersonaResult): boolean {
  return expectation.kind === 'caught' && expectation.measure === 'events';
}

function ratio(part: number, whole: number): [string, string] {
  return [`${part} of ${whole}`, percent(share(part, whole))];
}

function ofTotal(part: number, whole: number): string {
  return `${part} of ${whole} (${percent(share(part, whole))})`;
}

function percent(value: number): string {
  return `${(value * 100).toFixed(value === 0 || value === 1 ? 0 : 1)} %`;
}
