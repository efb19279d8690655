import type { CustomerNumber } from '../../kernel/brand.ts';
import { ALLOW_KEPT_MS, FLAGGED_KEPT_MS, LEARNING_ROWS_KEPT_MS } from '../../kernel/history-limits.ts';
import { AUDIT_KEEP_SECONDS, LABELS_KEEP_SECONDS } from '../../kernel/limits.ts';

/** How long rows about people are kept, by class, ms. */
export interface RowRetention {
  /** Decisions ALLOW. */
  readonly allow: number;
  /** All other decisions, and the rows of the review queue. */
  readonly flagged: number;
  readonly labels: number;
  readonly audit: number;
  /** Requests for backtests, if `log_requests` keeps any. */
  readonly requests: number;
  /** Feature rows that outlive their decisions. */
  readonly features: number;
}

export type RetentionClass = keyof RowRetention;
export type RetentionOf = (customer: CustomerNumber) => RowRetention;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Without a policy, and the longest that one may set: a policy only shortens. Source: contract, 9.13. */
export const RETENTION_MAX: RowRetention = {
  allow: ALLOW_KEPT_MS,
  flagged: FLAGGED_KEPT_MS,
  labels: LABELS_KEEP_SECONDS * 1_000,
  audit: AUDIT_KEEP_SECONDS * 1_000,
  requests: 90 * DAY_MS,
  features: LEARNING_ROWS_KEPT_MS,
};

/** Choice: an hour shows what was just decided; changes are looked into weeks later. */
export const RETENTION_MIN: RowRetention = {
  allow: HOUR_MS,
  flagged: HOUR_MS,
  labels: DAY_MS,
  audit: 30 * DAY_MS,
  requests: DAY_MS,
  features: DAY_MS,
};

export function defaultRetention(): RowRetention {
  return RETENTION_MAX;
}

/** Returns the periods of the most specific part that names each. */
export function retentionIn(
  parts: readonly { readonly retention?: Partial<RowRetention> | undefined }[],
): RowRetention {
  return Object.assign({}, RETENTION_MAX, ...parts.map(({ retention }) => retention)) as RowRetention;
}

/** Reads `6h` or `30d`, ms; NaN for another text. */
export function periodMs(text: string): number {
  const [, count = '', unit = ''] = /^([1-9]\d{0,3})([hd])$/.exec(text) ?? [];
  return count === '' ? Number.NaN : Number(count) * (unit === 'h' ? HOUR_MS : DAY_MS);
}

/** Writes a period as `periodMs` reads it. */
export function periodText(ms: number): string {
  return ms % DAY_MS === 0 ? `${ms / DAY_MS}d` : `${ms / HOUR_MS}h`;
}
