import type { CustomerNumber } from '../../kernel/brand.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { StepOutcome } from '../../state/tables/extractions/apply-results.ts';
import type { Job } from '../../state/tables/extractions/job-row.ts';
import type { FoundRecords } from '../../state/tables/extractions/record-table.ts';
import { type FoundRange, HASH_BYTES, type JobNumber } from '../../state/tables/extractions/row-keys.ts';
import type { FoundSteps } from '../../state/tables/extractions/step-table.ts';
import type { PartResult } from '../../state/tables/extraction-table.ts';
import type { BrowserSession, FailureEntry } from '../../work/extraction-job.ts';
import type { Failure } from '../../work/extraction-state.ts';

/** A job and the token of its owner at the time of writing. */
export type OwnedJob = readonly [job: JobNumber, token: number];

/** Entries of the log of jobs. Every node applies each entry with the same outcome. */
export type JobOp =
  | {
      readonly kind: 'create';
      readonly job: Omit<Job, 'number'>;
      readonly steps: FoundSteps;
      readonly idempotency: {
        readonly key: string;
        readonly bodySha256: Uint8Array;
        readonly newSecret: string | null;
      } | null;
      /** Empty if no node runs it yet. */
      readonly owner: string;
    }
  | { readonly kind: 'begin'; readonly jobs: readonly OwnedJob[] }
  | { readonly kind: 'apply'; readonly results: readonly WireResult[] }
  | {
      readonly kind: 'end';
      readonly job: JobNumber;
      /** Null if a customer ended it, which any node may do. */
      readonly token: number | null;
      readonly failure: Failure;
      readonly entries: readonly FailureEntry[];
    }
  | { readonly kind: 'save'; readonly owned: OwnedJob; readonly state: string }
  | { readonly kind: 'delivered'; readonly owned: OwnedJob; readonly status: 'delivered' | 'failed' }
  /** The node that writes it runs these jobs from now on, if they still have this token. */
  | { readonly kind: 'claim'; readonly jobs: readonly OwnedJob[] }
  | { readonly kind: 'session'; readonly session: BrowserSession; readonly content: Uint8Array }
  | { readonly kind: 'session_removed'; readonly customer: CustomerNumber; readonly id: string };

/** A part of a step's result. */
export interface WireResult {
  readonly owned: OwnedJob;
  readonly step: number;
  readonly records: PackedRecords | null;
  readonly next: PackedSteps | null;
  readonly isLast: boolean;
  readonly isPostponed: boolean;
  readonly outcome: StepOutcome;
  readonly session: { readonly changesJson: string; readonly atMs: number } | null;
}

interface PackedRecords {
  readonly ndjson: Uint8Array;
  readonly lineBytes: Uint8Array;
  readonly hashes: Uint8Array;
}

interface PackedSteps {
  readonly rows: Uint8Array;
  readonly rowBytes: Uint8Array;
  readonly hashes: Uint8Array;
}

/** Author and time of an entry. */
export interface OpOrigin {
  readonly node: string;
  /** Told apart from earlier runs of the node. */
  readonly run: string;
  readonly serial: number;
  readonly nowMs: number;
}

type CreateOp = Extract<JobOp, { readonly kind: 'create' }>;
type PackedOp = Exclude<JobOp, CreateOp> | (Omit<CreateOp, 'steps'> & { readonly steps: PackedSteps });

/** Version of the entries. Raise it when the fields of an op or the kinds of ops change, or what nodes make of them. */
export const JOB_LOG_FORMAT = 2;
/** Oldest version that this build reads: it differs in that no step is marked as a list. */
const JOB_LOG_FORMAT_MIN = 1;

export function encodeOp({ node, run, serial, nowMs }: OpOrigin, op: JobOp): Buffer {
  const packed = op.kind === 'create' ? { ...op, steps: packSteps(op.steps, wholeOf(op.steps.rowBytes)) } : op;
  return pack([JOB_LOG_FORMAT, node, run, serial, nowMs, packed]);
}

export type DecodedOp =
  | { readonly kind: 'op'; readonly origin: OpOrigin; readonly op: JobOp }
  /** Written by a build with another format. */
  | { readonly kind: 'unknown'; readonly format: number };

/** Decodes bytes that `encodeOp` wrote, which the encryption of the log guarantees. */
export function decodeOp(bytes: Buffer): DecodedOp {
  const [format, node, run, serial, nowMs, packed] = unpack(bytes);
  if (Number(format) < JOB_LOG_FORMAT_MIN || Number(format) > JOB_LOG_FORMAT)
    return { kind: 'unknown', format: Number(format) };
  const origin = { node: String(node), run: String(run), serial: Number(serial), nowMs: Number(nowMs) };
  const op = packed as PackedOp;
  return { kind: 'op', origin, op: op.kind === 'create' ? { ...op, steps: unpackSteps(op.steps) } : op };
}

export function packResult(result: PartResult, token: number): WireResult {
  const { job, step, records, next, isLast, isPostponed = false, outcome, session } = result;
  return {
    owned: [job.number, token],
    step,
    records: records && packRecords(records.found, records.range),
    next: next && packSteps(next.found, next.range),
    isLast,
    isPostponed,
    outcome,
    session: session && { changesJson: session.changesJson, atMs: session.atMs },
  };
}

export function unpackResult(
  wire: WireResult,
  job: Job,
  sessionOf: (session: NonNullable<WireResult['session']>) => NonNullable<PartResult['session']>,
): PartResult {
  const { step, isLast, isPostponed, outcome } = wire;
  const records = wire.records && unpackRecords(wire.records);
  const next = wire.next && unpackSteps(wire.next);
  return {
    job,
    step,
    records: records && { found: records, range: wholeOf(records.lineBytes) },
    next: next && { found: next, range: wholeOf(next.rowBytes) },
    isLast,
    isPostponed,
    outcome,
    session: wire.session && sessionOf(wire.session),
  };
}

function packRecords({ ndjson, lineBytes, hashes }: FoundRecords, range: FoundRange): PackedRecords {
  const cut = cutOf(lineBytes, hashes, range);
  return { ndjson: ndjson.subarray(range.at, range.at + cut.bytes), lineBytes: cut.sizes, hashes: cut.hashes };
}

function packSteps({ rows, rowBytes, hashes }: FoundSteps, range: FoundRange): PackedSteps {
  const cut = cutOf(rowBytes, hashes, range);
  return { rows: rows.subarray(range.at, range.at + cut.bytes), rowBytes: cut.sizes, hashes: cut.hashes };
}

function unpackRecords({ ndjson, lineBytes, hashes }: PackedRecords): FoundRecords {
  return { ndjson, lineBytes: sizesOf(lineBytes), hashes };
}

function unpackSteps({ rows, rowBytes, hashes }: PackedSteps): FoundSteps {
  return { rows, rowBytes: sizesOf(rowBytes), hashes };
}

function cutOf(
  sizes: Uint32Array,
  hashes: Uint8Array,
  { from, to }: FoundRange,
): { readonly bytes: number; readonly sizes: Buffer; readonly hashes: Uint8Array } {
  const own = sizes.slice(from, to);
  return {
    bytes: own.reduce((sum, size) => sum + size, 0),
    sizes: Buffer.from(own.buffer, own.byteOffset, own.byteLength),
    hashes: hashes.subarray(from * HASH_BYTES, to * HASH_BYTES),
  };
}

/** Copies, because a view of 32-bit numbers must begin at a multiple of four. */
function sizesOf(packed: Uint8Array): Uint32Array {
  return new Uint32Array(Uint8Array.from(packed).buffer);
}

function wholeOf(sizes: Uint32Array): FoundRange {
  return { from: 0, to: sizes.length, at: 0 };
}
