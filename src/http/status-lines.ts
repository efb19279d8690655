import { STATUS_CODES } from 'node:http';

const LINES = new Map(Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ''}`]));

/** `404` → `404 Not Found`. */
export function statusLine(status: number): string {
  return LINES.get(status) ?? `${status} Unknown`;
}
