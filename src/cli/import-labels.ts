import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Label } from '../contract/vocabulary.ts';
import { NOTE_CHARACTERS_MAX } from '../kernel/limits.ts';
import { readLabelRows, type LabelRow, type RejectedLabelRow } from '../replay/label-rows.ts';
import { messageOf } from '../state/tables/durable.ts';
import { type ApiCaller, type ApiOptions, type ApiReply, openApi } from './api-access.ts';
import { failure, ok, usage, type CommandError, type CommandOutcome } from './command-outcome.ts';
import type { Cli } from './context.ts';
import { counted } from './counted.ts';
import { importText } from './customer-lists.ts';
import { createProgress, type Progress } from './progress.ts';

export interface ImportLabelsOptions extends ApiOptions {
  readonly map: readonly string[];
  readonly label?: Label;
  readonly source?: string;
  readonly dryRun: boolean;
}

/** Choice: some 300,000 rows; a year's chargebacks of a large shop have a tenth. */
const FILE_BYTES_MAX = 64 * 1_048_576;
/** Choice: a label is one write on the disk, and writes that wait for each other share one. */
const CALLS_AT_ONCE = 4;
/** Choice: the allowance of 6,000 calls a minute comes back within one, and a restart takes less. */
const WAIT_MS = 1_000;
const WAITS_MAX = 90;
/** Errors that end by themselves. */
const PASSING: ReadonlySet<string> = new Set(['rate_limited', 'overloaded', 'unreachable', 'starting']);

/** Labels the decisions that a CSV file names, through the running server. Labels again are harmless: the last one counts. */
export async function importLabels(cli: Cli, file: string, options: ImportLabelsOptions): Promise<CommandOutcome> {
  const { map, label = null, source = null, dryRun } = options;
  let text: string;
  try {
    const bytes = await readFile(file);
    if (bytes.length > FILE_BYTES_MAX) return failure('file_too_large', `${file} has over ${FILE_BYTES_MAX} bytes`);
    text = bytes.toString();
  } catch (error) {
    return failure('unreadable_file', `${file} cannot be read: ${messageOf(error)}`);
  }
  const read = readLabelRows(text, { map, label, source, noteCharactersMax: NOTE_CHARACTERS_MAX });
  if (read.kind === 'fault') return usage('unknown_columns', read.message);
  const report = (labelled: readonly LabelRow[], rejected: readonly RejectedLabelRow[]): CommandOutcome => {
    const fraud = labelled.filter((row) => row.label === 'fraud').length;
    const json = {
      dry_run: dryRun,
      columns: Object.fromEntries(read.columns),
      labelled: labelled.length,
      fraud,
      legitimate: labelled.length - fraud,
      rejected,
    };
    const done = `${counted(labelled.length, 'decision')} ${dryRun ? 'would be ' : ''}labelled: ${fraud} fraud`;
    const sentence = `${done}, ${labelled.length - fraud} legitimate; ${counted(rejected.length, 'line')} rejected`;
    const lines = rejected.map(({ line, message }) => ({ at: line, message }));
    return ok(json, importText(sentence, lines), rejected.length > 0);
  };
  if (dryRun) return report(read.rows, read.rejected);
  const opened = await openApi(cli, options);
  if (opened.kind === 'error') return opened;
  const progress = createProgress(read.rows.length, cli.io.write);
  const sent = await sendLabels(opened.api, read.rows, progress);
  progress.stop();
  if (sent.stoppedBy !== null) {
    const { code, message } = sent.stoppedBy;
    const done = counted(sent.labelled.length, 'decision');
    return failure(code, `${message}; ${done} of ${read.rows.length} labelled, import the file again to go on`);
  }
  const rejected = [...read.rejected, ...sent.rejected].sort((a, b) => a.line - b.line);
  return report(sent.labelled, rejected);
}

interface Sent {
  readonly labelled: LabelRow[];
  readonly rejected: RejectedLabelRow[];
  stoppedBy: CommandError | null;
}

async function sendLabels(api: ApiCaller, rows: readonly LabelRow[], progress: Progress): Promise<Sent> {
  const sent: Sent = { labelled: [], rejected: [], stoppedBy: null };
  const waiting = rows.values();
  const sendNext = async (): Promise<void> => {
    for (const row of waiting) {
      const reply = await sendLabel(api, row);
      if (reply.kind === 'ok') sent.labelled.push(row);
      else if (reply.code === 'not_found')
        sent.rejected.push({ line: row.line, message: `${row.requestId} is not a decision of this customer` });
      else sent.stoppedBy ??= reply;
      if (sent.stoppedBy !== null) return;
      const done = sent.labelled.length + sent.rejected.length;
      progress.update(done, `${sent.labelled.length} labelled, ${sent.rejected.length} rejected`);
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, sendNext));
  return sent;
}

/** Sends a label again while the error is one that ends by itself. */
async function sendLabel(api: ApiCaller, { requestId, label, note }: LabelRow): Promise<ApiReply> {
  for (let waits = 0; ; waits++) {
    const reply = await api.post('/v1/labels', { request_id: requestId, label, ...(note !== null && { note }) });
    if (reply.kind === 'ok' || !PASSING.has(reply.code) || waits === WAITS_MAX) return reply;
    await sleep(WAIT_MS);
  }
}
