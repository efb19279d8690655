import { STATUS_CODES } from 'node:http';

const LINES = new Map(Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ''}`]));

/** Returns whether a response with this status has neither content nor fields that describe it. */
export function hasNoContent(status: number): boolean {
  return status === 204 || status === 304;
}

/** Maps `404` to `404 Not Found`. */
export function statusLine(status: number): string {
  return LINES.get(status) ?? `${status} Unknown`;
}
