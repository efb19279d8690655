import type { GuardedClient } from '../../egress/guarded-client.ts';

/** What sending a whole result needs, whatever the destination is. */
export interface SendParts {
  readonly client: Pick<GuardedClient, 'request'>;
  /** Real time, Unix ms. */
  nowMs(): number;
  /** Ends early when the service stops. */
  wait(ms: number): Promise<void>;
  isStopping(): boolean;
  /** From 0 up to, but not including, 1. */
  random(): number;
}

export const USER_AGENT = 'Gatehouse-Extraction/1';
/** Choice: responses of a storage service have a few hundred bytes. */
export const ANSWER_BYTES_MAX = 65_536;
/** Choice: twice as long as for a webhook's receiver, because storage services are larger and further away. */
export const CONNECT_MS = 5_000;
/** Choice: time for a request besides the time for its body. */
const REQUEST_MS = 30_000;
/** Choice: 100 KB a second, which is a slow connection; 8 MiB then have 84 s. */
const BYTES_PER_MS_MIN = 100;

/** Returns the timeout of one request. */
export function timeoutMsOf(bodyBytes: number): number {
  return REQUEST_MS + Math.ceil(bodyBytes / BYTES_PER_MS_MIN);
}
