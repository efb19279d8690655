import { stat, writeFile } from 'node:fs/promises';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { evaluateHistory, type EvaluatedHistory } from '../../replay/evaluate-history.ts';
import { applyMap, guessColumns, type ColumnMap } from '../../replay/history-columns.ts';
import type { HistoryFaults } from '../../replay/history-events.ts';
import type { HistoryRow } from '../../replay/history-row.ts';
import { readHistory, type HistoryFormat } from '../../replay/history-rows.ts';
import type { UnknownWord } from '../../replay/history-words.ts';
import { ParquetFault } from '../../replay/parquet-fault.ts';
import { ReplayEngine } from '../../replay/replay-engine.ts';
import { failure, ok, usage, type CommandOutcome } from '../command-outcome.ts';
import type { Io } from '../io.ts';
import { createProgress } from '../progress.ts';
import { givenGeo, givenPolicy } from '../replay-inputs.ts';
import { askForColumns } from './column-wizard.ts';
import { evaluationPage } from './evaluation-page.ts';
import { type EvaluationSource, evaluationText } from './evaluation-text.ts';

export interface EvaluateOptions {
  readonly map: readonly string[];
  readonly labels?: string;
  readonly format?: string;
  readonly policy?: string;
  readonly html?: string;
  readonly geo: boolean;
  readonly yes: boolean;
  readonly json: boolean;
  readonly dataDir: string;
}

/** Rows that columns are guessed from, and that are shown. */
const ROWS_SHOWN = 3;
/** Choice: names of columns of NDJSON are those of its first rows; other formats list all. */
const ROWS_READ = 100;
/** The service's default. */
const VELOCITY_BYTES = 256 * 2 ** 20;
const FIRST_CUSTOMER = 1 as CustomerNumber;

/** Runs `gatehouse evaluate`. */
export async function evaluateFile(file: string, options: EvaluateOptions, io: Io): Promise<CommandOutcome> {
  try {
    return await evaluateReadable(file, options, io);
  } catch (error) {
    if (error instanceof ParquetFault) return unreadable(file, error);
    throw error;
  }
}

async function evaluateReadable(file: string, options: EvaluateOptions, io: Io): Promise<CommandOutcome> {
  const format = formatOf(file, options.format);
  if (format.kind === 'error') return format;
  const opened = await readStart(file, format.format);
  if (opened.kind === 'failed') return opened.outcome;
  const chosen = await chooseColumns(opened, options);
  if (chosen.kind === 'failed') return chosen.outcome;
  const { columns } = chosen;
  if (![...columns.values()].includes('timestamp'))
    return usage('no_time', 'no column has the time of the event; name it by --map <column>=timestamp', {
      hints: [`The columns are ${opened.columns.join(', ')}.`],
    });
  const given = await givenPolicy(options.policy ?? null, null, FIRST_CUSTOMER);
  if (given.kind === 'failed') return given.outcome;
  const { policies } = given;
  const { geo, missing } = await givenGeo(io.env, options.dataDir, options.geo);
  const progress = createProgress(opened.bytes, io.write);
  const startedAtMs = performance.now();
  const evaluated = await evaluateHistory({
    path: file,
    format: format.format,
    columns,
    attributes: policies.of(FIRST_CUSTOMER, '').policy.attributes,
    policies,
    openEngine: () => new ReplayEngine({ policies, geo, sources: null, velocityBytes: VELOCITY_BYTES, keys: null }),
    onProgress(bytes, events, pass) {
      const rate = Math.round(events / Math.max(0.001, (performance.now() - startedAtMs) / 1_000));
      progress.update(bytes, `${events} events, ${rate}/s${pass === 2 ? ', sorted by time first' : ''}`);
    },
    stop: io.stopSignal(),
  }).finally(() => progress.stop());
  const { columnsLeftOut } = opened;
  const source = { file, columns, columnsLeftOut, policyVersion: policies.version, missingDatabases: missing };
  const html = options.html === undefined ? null : await writePage(options.html, evaluated, source);
  if (html !== null) return html;
  const written = options.html === undefined ? '' : `\nWritten: ${options.html}`;
  return ok(jsonOf(evaluated, source), `${evaluationText(evaluated, source)}${written}`, evaluated.isStopped);
}

function formatOf(
  file: string,
  given: string | undefined,
): { readonly kind: 'ok'; readonly format: HistoryFormat } | (CommandOutcome & { readonly kind: 'error' }) {
  const name = given ?? (/\.(\w+)$/.exec(file)?.[1] ?? 'csv').toLowerCase();
  if (name === 'ndjson' || name === 'jsonl' || name === 'json') return { kind: 'ok', format: 'ndjson' };
  if (name === 'parquet' || name === 'parq' || name === 'pq') return { kind: 'ok', format: 'parquet' };
  if (given !== undefined && name !== 'csv')
    return { kind: 'error', code: 'usage', message: '--format must be csv, ndjson or parquet', isUsage: true };
  return { kind: 'ok', format: 'csv' };
}

interface HistoryStart {
  readonly kind: 'ok';
  readonly bytes: number;
  readonly columns: readonly string[];
  readonly columnsLeftOut: readonly string[];
  readonly rows: readonly HistoryRow[];
}

type Failed = { readonly kind: 'failed'; readonly outcome: CommandOutcome };

async function readStart(file: string, format: HistoryFormat): Promise<HistoryStart | Failed> {
  try {
    const { size } = await stat(file);
    const columns = new Set<string>();
    const rows: HistoryRow[] = [];
    let columnsLeftOut: readonly string[] = [];
    for await (const read of readHistory(file, format, () => {})) {
      if (read.kind === 'fault') continue;
      for (const column of read.kind === 'columns' ? read.columns : read.row.keys()) columns.add(column);
      if (read.kind === 'columns') columnsLeftOut = read.leftOut;
      else if (rows.push(read.row) >= ROWS_READ) break;
    }
    if (rows.length === 0) return { kind: 'failed', outcome: failure('no_rows', `${file} has no rows`) };
    return { kind: 'ok', bytes: size, columns: [...columns], columnsLeftOut, rows: rows.slice(0, ROWS_SHOWN) };
  } catch (error) {
    return { kind: 'failed', outcome: unreadable(file, error) };
  }
}

function unreadable(file: string, error: unknown): CommandOutcome {
  if (error instanceof ParquetFault) return failure('unreadable_file', `${file} ${error.message}`);
  const detail = error instanceof Error ? error.message : String(error);
  return failure('unreadable_file', `${file} cannot be read: ${detail}`);
}

async function chooseColumns(
  { columns, rows }: HistoryStart,
  { map, labels, json, yes }: EvaluateOptions,
): Promise<{ readonly kind: 'ok'; readonly columns: ColumnMap } | Failed> {
  const applied = applyMap(columns, guessColumns(columns), map, labels ?? null);
  if (applied.kind === 'fault') return { kind: 'failed', outcome: usage('wrong_column', applied.message) };
  if (json || yes || !process.stdin.isTTY || !process.stderr.isTTY) return applied;
  const asked = await askForColumns(columns, applied.columns, rows);
  return asked === null ? { kind: 'failed', outcome: failure('stopped', 'stopped') } : { kind: 'ok', columns: asked };
}

async function writePage(
  path: string,
  evaluated: EvaluatedHistory,
  source: EvaluationSource,
): Promise<CommandOutcome | null> {
  try {
    await writeFile(path, evaluationPage(evaluated, source));
    return null;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return failure('unwritable_file', `${path} cannot be written: ${detail}`);
  }
}

function jsonOf(evaluated: EvaluatedHistory, source: EvaluationSource): object {
  const { result, faults, refused, isSorted, isStopped } = evaluated;
  return {
    ...result,
    policy_version: source.policyVersion,
    columns: Object.fromEntries(source.columns),
    columns_left_out: source.columnsLeftOut,
    databases_missing: source.missingDatabases,
    was_in_order: isSorted,
    stopped: isStopped,
    left_out: { without_time: faults.withoutTime, unreadable: faults.unreadable, refused },
    unknown_labels: membersOf(faults.labels, 'count'),
    unknown_label_rows: membersOf(faults.labels, 'firstRow'),
    unknown_outcomes: membersOf(faults.outcomes, 'count'),
    unknown_outcome_rows: membersOf(faults.outcomes, 'firstRow'),
  };
}

function membersOf(words: HistoryFaults['labels'], member: keyof UnknownWord): Readonly<Record<string, number>> {
  return Object.fromEntries([...words].map(([word, unknown]) => [word, unknown[member]]));
}
