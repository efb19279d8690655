import type { Brand, CustomerNumber } from '../kernel/brand.ts';
import type { FieldDrift, NullShares } from './watch-drift.ts';
import type { FailureReason, WatchChangeKind, WatchNote } from '../contract/vocabulary.ts';

/** Identifies a watch, `wat_…`. */
export type WatchId = Brand<string, 'WatchId'>;

/** When a watch runs: every `seconds` since it was set, or by a cron line in UTC. */
export type WatchSchedule =
  | { readonly kind: 'every'; readonly seconds: number }
  | { readonly kind: 'cron'; readonly line: string };

/** What a customer sets. */
export interface WatchSettings {
  readonly name: string | null;
  /** The body of `POST /v1/extractions` that each run starts. It was accepted when it was set. */
  readonly extraction: Readonly<Record<string, unknown>>;
  readonly schedule: WatchSchedule;
  /** Dotted paths whose values identify a record. */
  readonly key: readonly string[];
  /** Dotted paths whose values are compared; null for the whole record. */
  readonly compare: readonly string[] | null;
  readonly emit: readonly WatchChangeKind[];
  readonly isPaused: boolean;
}

export interface WatchCounts {
  readonly new: number;
  readonly changed: number;
  readonly gone: number;
}

/** A run that has begun and not ended. */
export interface WatchRun {
  /** Numbers the runs of a watch from 1. */
  readonly run: number;
  /** The due time that it stands for, Unix ms; null for a run that was asked for. */
  readonly dueAtMs: number | null;
  readonly beganAtMs: number;
  /** Id of its extraction; null until that exists. */
  readonly job: string | null;
  /** The node that runs it; null until one has taken it. */
  readonly node: string | null;
  /** Changes so far. */
  readonly counts: WatchCounts;
}

export type WatchFailure = FailureReason | 'not_accepted' | 'job_removed' | 'too_many_records';

/** How a run ended. */
export interface WatchEnd {
  readonly failure: WatchFailure | null;
  /** Whether the extraction had everything: only then a record that is absent may be gone. */
  readonly isComplete: boolean;
  readonly notes: readonly WatchNote[];
  readonly records: number;
  /** Only of a complete run of an extraction with its own fields that had enough records. */
  readonly drift?: FieldDrift;
}

export interface Watch extends WatchSettings {
  readonly id: WatchId;
  readonly customer: CustomerNumber;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** The first due time of the present schedule, from which `every` counts. */
  readonly anchorMs: number;
  /** When it runs next, Unix ms. */
  readonly dueAtMs: number;
  /** Number of the last run. */
  readonly runs: number;
  /** Due times that no run stands for, since the watch was made. */
  readonly missedRuns: number;
  /** Rises when what is compared changes: what was seen before counts no more. */
  readonly generation: number;
  /** Whether a complete run of this generation has ended. */
  readonly hasBaseline: boolean;
  readonly running: WatchRun | null;
  readonly last:
    | (Omit<WatchRun, 'node'> &
        Omit<WatchEnd, 'drift'> & { readonly endedAtMs: number; readonly drifted?: readonly string[] })
    | null;
  /** Shares of the last run with enough records; absent before one, and when what is compared was changed since. */
  readonly nullShares?: NullShares;
  /** SHA-256 of the feed token, lower-case hex; null without one. */
  readonly tokenHash: string | null;
  /** Numbers of the oldest kept change, and of the next one. */
  readonly firstSeq: number;
  readonly nextSeq: number;
  /** Bytes of the changes that are kept. */
  readonly changeBytes: number;
}

/** A change that a watch has found. */
export interface WatchChange {
  readonly atMs: number;
  readonly run: number;
  readonly kind: WatchChangeKind;
  /** JSON of the values of `key`, by their paths. */
  readonly keyJson: string;
  /** JSON of the record; null for one that is gone, and for one that is too long. */
  readonly recordJson: string | null;
  /** JSON of the values that were compared, as they were before; null for a new record, and if they are too long. */
  readonly beforeJson: string | null;
}

/** What is kept of a record between runs. */
export interface SeenRecord {
  /** Hash of the compared values, 32 lower-case hex digits. */
  readonly hash: string;
  readonly keyJson: string;
  /** JSON of the compared values; null if they are too long. */
  readonly valuesJson: string | null;
  /** Complete runs in a row without the record, and the last one of them. */
  readonly missed: number;
  readonly missedRun: number;
}

/** A record that a run has found, or has not found: `record` null. */
export interface WatchFinding {
  /** Hash of the key, 32 lower-case hex digits. */
  readonly keyHash: string;
  readonly record:
    | (Pick<SeenRecord, 'hash' | 'keyJson' | 'valuesJson'> & { readonly recordJson: string | null })
    | null;
}

export const NO_CHANGES: WatchCounts = { new: 0, changed: 0, gone: 0 };
/** What a watch has before its first run. */
export const NO_RUNS = {
  runs: 0,
  missedRuns: 0,
  generation: 1,
  hasBaseline: false,
  running: null,
  last: null,
  firstSeq: 1,
  nextSeq: 1,
  changeBytes: 0,
} as const satisfies Partial<Watch>;

/** Complete runs in a row without a record after which it is gone. */
export const MISSES_UNTIL_GONE = 2;
export const WATCHES_MAX = 100;
/** Choice: each takes some 6 µs of the main thread when it is compared, and a row of at most 1.2 KB. */
export const WATCH_RECORDS_MAX = 5_000;
/** Choice: 100 watches of a customer keep at most 400 MB. Beyond, the oldest changes go. */
export const WATCH_CHANGE_BYTES_MAX = 4_194_304;
export const WATCH_CHANGES_MAX = 5_000;
export const WATCH_CHANGE_KEEP_MS = 30 * 86_400_000;
/** Choice: most records of the catalogue have under 4 KB; a longer one is read by its extraction. */
export const WATCH_RECORD_BYTES_MAX = 16_384;
/** Choice: names, prices and times; not texts of articles. */
export const WATCH_VALUES_BYTES_MAX = 512;
