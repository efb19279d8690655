import { SourceFailure, type StepResult } from '../../base/connector.ts';

export const NOTHING: StepResult = { records: [], next: [], total: null };

export function isNothing({ records, next, leftOut, brokenOff }: StepResult): boolean {
  return records.length === 0 && next.length === 0 && leftOut === undefined && brokenOff === undefined;
}

const PASSABLE = [
  'source_not_found',
  'access_denied',
  'robots_disallowed',
  'unsupported_content',
  'parse_failed',
  'login_required',
];

export function isPassable(error: unknown): boolean {
  return error instanceof SourceFailure && !error.retryable && PASSABLE.includes(error.reason);
}

export function isGone(error: unknown): boolean {
  return error instanceof SourceFailure && error.reason === 'source_not_found';
}
