import { DECISIONS } from '../../risk/decision.ts';
import type { EvaluatedHistory } from '../../replay/evaluate-history.ts';
import type { ColdStartStep, EvaluatedRule } from '../../replay/evaluation.ts';
import type { ShareInterval } from '../../kernel/wilson.ts';
import { tableText } from '../text-table.ts';
import type { ColumnMap } from '../../replay/history-columns.ts';
import type { HistoryFaults } from '../../replay/history-events.ts';

/** What a report says about its input. */
export interface EvaluationSource {
  readonly file: string;
  readonly columns: ColumnMap;
  /** Columns of Parquet that are not read, as they have lists or maps. */
  readonly columnsLeftOut: readonly string[];
  readonly policyVersion: string;
  /** Location databases that were missing. */
  readonly missingDatabases: readonly string[];
}

/** The report of an evaluation for people. */
export function evaluationText(evaluated: EvaluatedHistory, source: EvaluationSource): string {
  const { result } = evaluated;
  const { labelled } = result;
  const types = Object.entries(result.decisions).map(([type, counts]) => [
    type === '' ? '(none)' : type,
    ...DECISIONS.map((decision) => String(counts[decision])),
  ]);
  return [
    `${result.events} events from ${result.from ?? '-'} to ${result.to ?? '-'}, policy version ${source.policyVersion}`,
    ...notesOf(evaluated, source),
    '',
    `Catch (fraud that is challenged, reviewed or blocked): ${shareText(result.catch)}`,
    `False alarms (legitimate events that are): ${shareText(result.false_alarms)}`,
    `All events that are: ${shareText(result.flagged)}`,
    '',
    tableText(['Event type', ...DECISIONS], types, 'no decisions'),
    '',
    labelled.legitimate > 0 ? 'Rules that cost most (decisive for false alarms)' : 'Rules that flag most events',
    rulesText(result.rules.cost),
    '',
    'Rules that gain most (decisive for catching fraud)',
    rulesText(result.rules.gain),
    '',
    'People who are most likely hit wrongly',
    tableText(
      ['Person', 'Events', 'Flagged', 'Last reasons'],
      result.people.map(({ name, value, events, flagged, reasons }) => [
        `${name} ${value}`,
        String(events),
        String(flagged),
        reasons.slice(0, 3).join(', '),
      ]),
      'nobody',
    ),
    '',
    'Since the first event',
    tableText(['Hours', 'Events', 'Flagged', 'Catch', 'False alarms'], result.cold_start.map(stepRow), 'no events'),
  ].join('\n');
}

/** Says what the reader must know about the input, one line each. */
export function notesOf(evaluated: EvaluatedHistory, { missingDatabases, columnsLeftOut }: EvaluationSource): string[] {
  const { result, faults, refused, firstProblem, isSorted, isStopped } = evaluated;
  const { fraud, legitimate } = result.labelled;
  const notes = [
    fraud + legitimate === 0
      ? 'No event has a label, so catch and false alarms are unknown; name the column by --labels.'
      : `Labelled: ${fraud} fraud, ${legitimate} legitimate.`,
  ];
  if (isStopped) notes.push('Stopped early: the figures are those of the events until then.');
  if (!isSorted) notes.push('The rows were not in the order of their times and were sorted.');
  if (faults.withoutTime > 0) notes.push(`${faults.withoutTime} rows without a time were left out.`);
  if (faults.unreadable > 0) notes.push(`${faults.unreadable} lines could not be read and were left out.`);
  if (refused > 0) notes.push(`${refused} rows were refused, the first one with ${firstProblem}`);
  if (faults.labels.size > 0) notes.push(`Unknown labels: ${wordsText(faults.labels)}.`);
  if (faults.outcomes.size > 0) notes.push(`Unknown outcomes: ${wordsText(faults.outcomes)}.`);
  if (columnsLeftOut.length > 0) notes.push(`Columns with lists or maps are not read: ${columnsLeftOut.join(', ')}.`);
  if (missingDatabases.includes('city') && missingDatabases.includes('country'))
    notes.push('No location database: rules about countries, travel and networks stay quiet.');
  return notes;
}

function wordsText(words: HistoryFaults['labels']): string {
  return [...words]
    .map(([word, { count, firstRow }]) => `${word === '' ? '(empty)' : word} (${count}, first in row ${firstRow})`)
    .join(', ');
}

/** For example `42 of 50, 84.0 % (71.5 to 91.7 %)`. */
export function shareText({ part, of, share, low, high }: ShareInterval): string {
  if (share === null || low === null || high === null) return 'unknown';
  return `${part} of ${of}, ${percent(share)} % (${percent(low)} to ${percent(high)} %)`;
}

export function percent(share: number): string {
  return (share * 100).toFixed(share < 0.01 && share > 0 ? 2 : 1);
}

function rulesText(rules: readonly EvaluatedRule[]): string {
  return tableText(
    ['Rule', 'Decisive: fraud', 'legitimate', 'unlabelled', 'Fired: fraud', 'legitimate', 'unlabelled'],
    rules.map(({ code, fired, decisive }) => [
      code,
      ...[decisive, fired].flatMap((counts) => [counts.fraud, counts.legitimate, counts.unlabelled].map(String)),
    ]),
    'none',
  );
}

function stepRow({ from_hours, to_hours, events, flagged, catch: caught, false_alarms }: ColdStartStep): string[] {
  const hours = to_hours === null ? `from ${from_hours}` : `${from_hours} to ${to_hours}`;
  const shares = [flagged, caught, false_alarms].map(({ share }) => (share === null ? '' : `${percent(share)} %`));
  return [hours, String(events), ...shares];
}
