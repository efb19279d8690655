import type { FailureReason, JobNote } from '../../work/extraction-job.ts';
import { RECORD_BYTES_MAX, RECORD_TEXT_BYTES_MIN } from '../../kernel/limits.ts';
import type { ExtractFailure, ExtractResult } from '../base/extract-messages.ts';
import { TEXT_CHARACTERS_MAX, type FoundRecord, type JsonObject } from '../base/connector.ts';
import { hashesOf } from '../base/pack-steps.ts';
import { META } from '../shape/record-meta.ts';
import type { FullRecord, Shaper } from '../shape/shaper.ts';

export type Note = Pick<ExtractFailure, 'reason' | 'detail'>;
export type EncodedLines = Pick<ExtractResult, 'ndjson' | 'lineBytes' | 'hashes'>;

export type RecordLines =
  | {
      readonly kind: 'lines';
      readonly encoded: EncodedLines;
      /** Number of dropped records. */
      readonly dropped: number;
      readonly notes: readonly Note[];
      readonly jobNotes: readonly JobNote[];
    }
  /** `enough`: the records before the failure if they are all that the job wants, so that it can still succeed; else null. */
  | { readonly kind: 'failed'; readonly failure: ExtractFailure; readonly enough: EncodedLines | null };

/** Choice: maximum size of all records of a step, which are in memory at the same time. */
const STEP_BYTES_MAX = 32 * 1_048_576;
/** Choice: maximum number of notes of one step; the operator sees only a few anyway. */
const NOTES_MAX = 4;
const BOUNDS = { bytesMax: RECORD_BYTES_MAX, textBytesMin: RECORD_TEXT_BYTES_MIN };
/** Maximum UTF-8 bytes of a UTF-16 unit: a line that is short by this estimate needs no exact count. */
const BYTES_PER_UNIT_MAX = 3;

/** Shapes the records of a step and serialises each as a line of JSON. Truncates records that are too large, for all connectors. */
export function toRecordLines(
  shaper: Shaper,
  records: readonly FoundRecord[],
  { recordsLeft, nowMs }: { readonly recordsLeft: number; readonly nowMs: number },
): RecordLines {
  const fetchedAt = new Date(nowMs).toISOString();
  const ids: string[] = [];
  const lines: string[] = [];
  const notes: Note[] = [];
  const jobNotes = new Set<JobNote>();
  let dropped = 0;
  const note = (jobNote: JobNote, reason: FailureReason, detail: string): void => {
    jobNotes.add(jobNote);
    if (notes.length < NOTES_MAX) notes.push({ reason, detail });
  };
  const fault = (reason: FailureReason, detail: string): RecordLines => {
    const enough = new Set(ids).size >= recordsLeft ? encodeLines(lines, ids) : null;
    return { kind: 'failed', failure: { reason, retryable: false, detail }, enough };
  };
  let characters = 0;
  for (const { id, sourceUrl, fields, isTruncated: isMarked } of records) {
    const isTruncated = isMarked === true || hasTruncatedText(fields);
    const meta = { id, source_url: sourceUrl, fetched_at: fetchedAt, ...(isTruncated && { truncated: true }) };
    const shaped = toLine(shaper, { ...fields, [META]: meta });
    const name = `${sourceUrl}, record ${id.slice(0, 100)}`;
    if (shaped.kind === 'failed') return fault('schema_mismatch', `${name}: ${shaped.detail}`);
    if (shaped.kind === 'dropped') {
      dropped++;
      note(
        'records_dropped',
        shaped.bytes === null ? 'schema_mismatch' : 'unsupported_content',
        `${name}: ${shaped.detail}`,
      );
      continue;
    }
    if (shaped.cutFrom !== null)
      note('records_truncated', 'unsupported_content', `${name}: truncated from ${shaped.cutFrom} bytes`);
    else if (isTruncated) note('records_truncated', 'unsupported_content', `${name}: its text was truncated`);
    characters += shaped.line.length;
    if (characters > STEP_BYTES_MAX)
      return fault('unsupported_content', `${sourceUrl}: the records of one step are too large`);
    ids.push(id);
    lines.push(shaped.line);
  }
  return { kind: 'lines', encoded: encodeLines(lines, ids), dropped, notes, jobNotes: [...jobNotes] };
}

/**
 * Returns whether a text of the record is exactly as long as a field may be. Readers cut longer ones to that length. Choice: a text that
 * has it by chance counts as truncated.
 */
function hasTruncatedText(fields: JsonObject): boolean {
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === 'string' && value.length === TEXT_CHARACTERS_MAX) return true;
  }
  return false;
}

type Line =
  /** `cutFrom`: its size in bytes before truncation; null if it was not truncated. */
  | { readonly kind: 'line'; readonly line: string; readonly cutFrom: number | null }
  /** `bytes`: its size if it is too large; null if the customer's schema rejects it. */
  | { readonly kind: 'dropped'; readonly detail: string; readonly bytes: number | null }
  | { readonly kind: 'failed'; readonly detail: string };

function toLine(shaper: Shaper, record: FullRecord): Line {
  const whole = shaper.shape(record);
  if (whole.kind !== 'record') return whole.kind === 'dropped' ? { ...whole, bytes: null } : whole;
  const line = `${JSON.stringify(whole.value)}\n`;
  const bytes = line.length * BYTES_PER_UNIT_MAX <= RECORD_BYTES_MAX ? 0 : Buffer.byteLength(line);
  if (bytes <= RECORD_BYTES_MAX) return { kind: 'line', line, cutFrom: null };
  const cut = shaper.shape(record, BOUNDS);
  if (cut.kind !== 'record') return cut.kind === 'dropped' ? { ...cut, bytes } : cut;
  return { kind: 'line', line: `${JSON.stringify(cut.value)}\n`, cutFrom: bytes };
}

function encodeLines(lines: readonly string[], ids: readonly string[]): EncodedLines {
  const lineBytes = Uint32Array.from(lines, (line) => Buffer.byteLength(line));
  // Separate memory: a slice of Node's shared pool would be transferred to the other thread with the whole pool.
  const ndjson = Buffer.allocUnsafeSlow(lineBytes.reduce((sum, bytes) => sum + bytes, 0));
  let at = 0;
  for (const line of lines) at += ndjson.write(line, at);
  return { ndjson, lineBytes, hashes: hashesOf(ids) };
}
