import { CONNECTORS, CONNECTORS_WITH_BASE } from '../../extract/connectors/connector-table.ts';
import { type OneJobEnd, runOneJob } from '../../extract/engine/run-one-job.ts';
import type { CheckedRequest } from '../../extract/request/read-request.ts';
import { createShaper } from '../../extract/shape/shaper.ts';
import { FILE_GROUP_BYTES, openWriter } from '../../extract/shape/parquet-writer.ts';
import type { RecordWriter } from '../../extract/shape/writers.ts';
import type { RecordFormat } from '../../contract/vocabulary.ts';
import { EXTRACT_USER_AGENT } from '../../kernel/limits.ts';
import { readSettings, type Settings } from '../../app/settings.ts';
import type { Io } from '../io.ts';
import { failure, usage, type CommandOutcome } from '../command-outcome.ts';
import type { ExtractOptions } from './options.ts';
import { createExtractProgress, type ExtractProgress } from './extract-progress.ts';
import { reportOf } from './report.ts';
import { readRequest } from './build-request.ts';
import { holdRecords, openFile, SinkFault, standardOutput, type Sink } from './sinks.ts';

/** Source: contract, 11.5, maximum number of records in an inline response. Choice: the same limit for the single object of `--json`. */
const HELD_RECORDS_MAX = 1_000;
const HELD_FORMATS: readonly RecordFormat[] = ['ndjson', 'json'];

/** Runs one job as given on the command line. Checks everything that can be checked before it fetches anything or opens a file. */
export async function extract(options: ExtractOptions, json: boolean, io: Io): Promise<CommandOutcome> {
  const read = readSettings(io.env, CONNECTORS_WITH_BASE);
  if (read.kind === 'faults') return usage('invalid_settings', `wrong settings: ${read.faults.join('; ')}`);
  for (const warning of read.warnings) io.write(2, `warning: ${warning}\n`);
  const asked = await readRequest(options, CONNECTORS, read.settings, io.stdin);
  if (asked.kind === 'wrong') return asked.outcome;
  const { request } = asked;
  const isHeld = json && options.out === undefined;
  if (isHeld && (!HELD_FORMATS.includes(options.format) || recordsMaxOf(request) > HELD_RECORDS_MAX)) {
    const message = `with --json, standard output is one JSON object with at most ${HELD_RECORDS_MAX} records, as JSON`;
    return usage('usage', message, { hints: ['Use --out for the records, or omit --json.'] });
  }
  if (options.format === 'parquet' && options.out === undefined && io.stdout.isTTY === true)
    return usage('usage', 'Parquet is binary: write it to a file', { hints: ['Use --out for the records.'] });
  const held = isHeld ? holdRecords() : null;
  try {
    const sink = held ?? (options.out === undefined ? standardOutput(io.stdout) : await openFile(options.out));
    const writer = await writerOf(request, isHeld ? 'ndjson' : options.format);
    const createProgress = (): ExtractProgress =>
      createExtractProgress(options.out === undefined && !isHeld && io.stdout.isTTY === true, io.write);
    const startedMs = performance.now();
    const end = await gather(request, read.settings, sink, writer, createProgress, io);
    const durationMs = performance.now() - startedMs;
    return reportOf({ request, end, durationMs, out: options.out ?? null, records: held?.records() ?? null });
  } catch (error) {
    if (error instanceof SinkFault) return failure('output_failed', error.message);
    throw error;
  }
}

function recordsMaxOf({ collect }: CheckedRequest): number {
  return collect.mode === 'limit' ? collect.limit : Infinity;
}

/** The records of the single JSON object are NDJSON until it is assembled. */
function writerOf({ operation, output }: CheckedRequest, format: RecordFormat): Promise<RecordWriter> {
  const created = createShaper(output, operation.record);
  const columns = created.kind === 'ok' ? created.shaper.columns : [];
  return openWriter({ format, csv: output.csv, columns, page: null }, FILE_GROUP_BYTES);
}

async function gather(
  request: CheckedRequest,
  settings: Settings,
  sink: Sink,
  writer: RecordWriter,
  createProgress: () => ExtractProgress,
  io: Io,
): Promise<OneJobEnd> {
  const progress = createProgress();
  const { collect } = request;
  let collected = 0;
  try {
    await sink.write(writer.begin(true));
    const end = await runOneJob(request, {
      connectors: CONNECTORS,
      worker: { egressAllow: settings.egressAllow, userAgent: EXTRACT_USER_AGENT, bases: settings.connectorBases },
      polite: { gapMs: settings.extractHostGapMs, concurrency: settings.extractHostConcurrency },
      signal: io.stopSignal(),
      onWarning: (message) => io.write(2, `warning: ${message}\n`),
      async write(ndjson, firstSeq) {
        await sink.write(writer.records(ndjson, firstSeq));
        collected = firstSeq;
      },
      onProgress(state) {
        const target = collect.mode === 'limit' ? collect.limit : (state.announced ?? 0);
        progress.update({ records: state.collected, target, pages: state.pages, errors: state.errors });
      },
    });
    await sink.write(writer.end());
    // A JSON file needs a final line feed; the other formats already end with one.
    if (writer.contentType === 'application/json') await sink.write(Buffer.from('\n'));
    await sink.close(end.state.status === 'succeeded' || collected > 0);
    return end;
  } catch (error) {
    await sink.close(false).catch(() => {});
    throw error;
  } finally {
    progress.stop();
  }
}
