import Table from 'cli-table3';
import { fractionOf, type AttackRow, type HonestRow, type Report, type Share } from './report.ts';

/** No colours and no lines between rows: a table has up to sixty rows. */
const PLAIN = {
  style: { head: [], border: [] },
  chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
};

/** Formats the report as text. */
export function reportText(
  report: Report,
  runs: readonly { readonly seed: number; readonly report: Report }[],
): string {
  const parts = [
    summaryTable(report, runs),
    'Honest sessions that were challenged or worse, and the people affected. Kinds marked * are ordinary people.',
    honestTable(report),
  ];
  if (report.attackSessions > 0) {
    parts.push(
      'Attack sessions: challenged or worse, and held back (soft challenge or block); events that passed before a\n' +
        "campaign's first stop (median), campaigns that were never stopped, and events that were not held back.",
      attackTable(report),
    );
  }
  parts.push('Rules that fired at the first challenge of honest sessions.', reasonTable(report));
  parts.push('Sessions in which each rule fired, at any event.', ruleTable(report));
  return parts.join('\n\n');
}

function summaryTable(report: Report, runs: readonly { readonly seed: number; readonly report: Report }[]): string {
  const table = new Table({
    head: [
      'seed',
      'sessions, honest / attack',
      'events',
      'challenged: sessions / people',
      'ordinary: sessions / people',
      'mean catch / held back',
      'kinds ≥ 90 / < 10 %',
      'held ≥ 90 / < 10 %',
      'ROC area',
    ],
    colAligns: ['left', ...Array.from({ length: 8 }, () => 'right' as const)],
    ...PLAIN,
    wordWrap: true,
  });
  const add = (name: string, of: Report): void => {
    table.push([
      name,
      `${of.honest.sessions.of} / ${of.attackSessions}`,
      of.events,
      pair(of.honest),
      pair(of.ordinary),
      of.attackSessions === 0 ? '–' : `${percent(of.meanChallenged, 1)} / ${percent(of.meanHeldBack, 1)}`,
      of.attackSessions === 0 ? '–' : `${of.kindsFrom90} / ${of.kindsUnder10} of ${of.attackKinds.length}`,
      of.attackSessions === 0 ? '–' : `${of.kindsHeldFrom90} / ${of.kindsHeldUnder10}`,
      of.attackSessions === 0 ? '–' : of.roc.area.toFixed(3),
    ]);
  };
  for (const { seed, report: of } of runs) add(String(seed), of);
  if (runs.length > 1) add('all', report);
  return table.toString();
}

function honestTable({ honest, ordinary, honestKinds }: Report): string {
  const table = new Table({
    head: [
      'who',
      'sessions',
      'challenged',
      'people',
      'challenged',
      'first hours',
      'later',
      'office 1st day',
      'later days',
    ],
    colAligns: ['left', ...Array.from({ length: 8 }, () => 'right' as const)],
    ...PLAIN,
  });
  const add = (name: string, row: HonestRow): void => {
    table.push([
      name,
      row.sessions.of,
      percentOf(row.sessions),
      row.people.of,
      percentOf(row.people),
      ...[row.firstHours, row.later, row.officeFirstDay, row.officeLater].map(percentOf),
    ]);
  };
  add('all', honest);
  add('ordinary people', ordinary);
  const sorted = [...honestKinds].sort((a, b) => fractionOf(b.sessions) - fractionOf(a.sessions));
  for (const row of sorted) add(`${row.kind}${row.isOrdinary ? ' *' : ''}`, row);
  return table.toString();
}

function attackTable({ attackKinds }: Report): string {
  const table = new Table({
    head: ['what', 'sessions', 'challenged', 'held back', 'through before', 'never stopped', 'events through'],
    colAligns: ['left', ...Array.from({ length: 6 }, () => 'right' as const)],
    ...PLAIN,
  });
  const sorted = [...attackKinds].sort((a, b) => fractionOf(b.challenged) - fractionOf(a.challenged));
  for (const row of sorted) table.push(attackCells(row));
  return table.toString();
}

function attackCells(row: AttackRow): (string | number)[] {
  return [
    row.kind,
    row.challenged.of,
    percentOf(row.challenged),
    percentOf(row.heldBack),
    row.throughFirst,
    `${row.neverStopped} of ${row.campaigns}`,
    percentOf(row.through),
  ];
}

/** Choice: number of entries printed per row; rarer ones are seldom of interest, and the file contains all of them. */
const RULES_SHOWN = 4;

function reasonTable({ reasons }: Report): string {
  const table = new Table({
    head: ['who', 'challenged', 'rules, with their share of those sessions'],
    colAligns: ['left', 'right', 'left'],
    ...PLAIN,
  });
  for (const { kind, challenged, rules } of reasons) {
    const shown = rules
      .slice(0, RULES_SHOWN)
      .map(([code, sessions]) => `${code} ${Math.round((sessions / challenged) * 100)} %`);
    table.push([kind, challenged, shown.join(', ')]);
  }
  return table.toString();
}

function ruleTable({ rules }: Report): string {
  const table = new Table({
    head: ['rule', 'honest', 'ordinary', 'attacks', 'kinds of attacks, with its share of their sessions'],
    colAligns: ['left', 'right', 'right', 'right', 'left'],
    ...PLAIN,
  });
  for (const { code, honest, ordinary, attacks, kinds } of rules) {
    const shown = kinds.slice(0, RULES_SHOWN).map(([kind, share]) => `${kind} ${Math.round(share * 100)} %`);
    table.push([code, percentOf(honest), percentOf(ordinary), percentOf(attacks), shown.join(', ')]);
  }
  return table.toString();
}

function pair({ sessions, people }: HonestRow): string {
  return `${percentOf(sessions)} / ${percentOf(people)}`;
}

function percentOf(share: Share): string {
  return share.of === 0 ? '–' : percent(fractionOf(share), 2);
}

function percent(fraction: number, digits: number): string {
  return `${(fraction * 100).toFixed(digits)} %`;
}
