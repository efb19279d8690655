import { EXTRACTION_STATUSES, FAILURE_REASONS, JOB_NOTES } from '../../../work/extraction-job.ts';
import type { ExtractionState, Failure } from '../../../work/extraction-state.ts';

/**
 * State of a job, of a fixed length, because it is written with every batch of results:
 *
 *   status, tier, delivery u8 each; failure and first failure: reason u8 (0 = none, else index in the list plus one), retryable u8;
 *   marks u8 (1: wide, 2: incomplete, from 4 on: one bit for each of JOB_NOTES); 9 numbers, f64 each: collected, announced (NaN = none),
 *   pages, errors, duplicates, credits, record bytes, next step, open steps; 4 times, Unix ms, f64 each: paused until, started, finished,
 *   expires (NaN = none); step bytes f64, absent in rows of older builds
 */
const FAILURE_AT = 3;
const FIRST_FAILURE_AT = 5;
const MARKS_AT = 7;
const IS_WIDE = 1;
const HAS_LOST = 2;
const FIRST_NOTE = 4;
const NUMBERS_AT = 8;
const TIMES_AT = NUMBERS_AT + 9 * 8;
const STEP_BYTES_AT = TIMES_AT + 4 * 8;
const ROW_BYTES = STEP_BYTES_AT + 8;

const TIERS = ['basic', 'standard', 'rendered'] as const;
const DELIVERIES = ['pending', 'delivered', 'failed'] as const;

export function encodeState(state: ExtractionState): Buffer {
  const row = Buffer.allocUnsafe(ROW_BYTES);
  row.writeUInt8(EXTRACTION_STATUSES.indexOf(state.status), 0);
  row.writeUInt8(TIERS.indexOf(state.tier), 1);
  row.writeUInt8(DELIVERIES.indexOf(state.delivery), 2);
  writeFailure(row, FAILURE_AT, state.failure);
  writeFailure(row, FIRST_FAILURE_AT, state.firstFailure);
  const notes = state.notes.reduce((bits, note) => bits | (FIRST_NOTE << JOB_NOTES.indexOf(note)), 0);
  row.writeUInt8((state.isWide ? IS_WIDE : 0) | (state.hasLost ? HAS_LOST : 0) | notes, MARKS_AT);
  const { collected, announced, pages, errors, duplicates, credits, recordBytes, nextStep, openSteps } = state;
  const numbers = [collected, announced, pages, errors, duplicates, credits, recordBytes, nextStep, openSteps];
  const times = [state.pausedUntilMs, state.startedAtMs, state.finishedAtMs, state.expiresAtMs];
  for (const [i, number] of [...numbers, ...times].entries())
    row.writeDoubleBE(number ?? Number.NaN, NUMBERS_AT + 8 * i);
  row.writeDoubleBE(state.stepBytes, STEP_BYTES_AT);
  return row;
}

/** `stored` may still include its check sum. */
export function decodeState(stored: Buffer): ExtractionState {
  const numberAt = (i: number): number => stored.readDoubleBE(NUMBERS_AT + 8 * i);
  const maybeAt = (i: number): number | null => (Number.isNaN(numberAt(i)) ? null : numberAt(i));
  return {
    status: statusOf(stored),
    tier: TIERS[stored.readUInt8(1)] ?? 'basic',
    delivery: DELIVERIES[stored.readUInt8(2)] ?? 'pending',
    failure: readFailure(stored, FAILURE_AT),
    firstFailure: readFailure(stored, FIRST_FAILURE_AT),
    isWide: (stored.readUInt8(MARKS_AT) & IS_WIDE) !== 0,
    hasLost: (stored.readUInt8(MARKS_AT) & HAS_LOST) !== 0,
    notes: JOB_NOTES.filter((_, i) => (stored.readUInt8(MARKS_AT) & (FIRST_NOTE << i)) !== 0),
    collected: numberAt(0),
    announced: maybeAt(1),
    pages: numberAt(2),
    errors: numberAt(3),
    duplicates: numberAt(4),
    credits: numberAt(5),
    recordBytes: numberAt(6),
    nextStep: numberAt(7),
    openSteps: numberAt(8),
    stepBytes: stored.length < ROW_BYTES ? 0 : stored.readDoubleBE(STEP_BYTES_AT),
    pausedUntilMs: numberAt(9),
    startedAtMs: maybeAt(10),
    finishedAtMs: maybeAt(11),
    expiresAtMs: maybeAt(12),
  };
}

export function statusOf(stored: Buffer): ExtractionState['status'] {
  return EXTRACTION_STATUSES[stored.readUInt8(0)] ?? 'queued';
}

function writeFailure(row: Buffer, at: number, failure: Failure | null): void {
  row.writeUInt8(failure === null ? 0 : FAILURE_REASONS.indexOf(failure.reason) + 1, at);
  row.writeUInt8(failure?.retryable === true ? 1 : 0, at + 1);
}

function readFailure(row: Buffer, at: number): Failure | null {
  const reason = FAILURE_REASONS[row.readUInt8(at) - 1];
  return reason === undefined ? null : { reason, retryable: row.readUInt8(at + 1) === 1 };
}
