import { REPLY_BYTES_MAX, ReplyTooLarge } from './link.ts';
import type * as Package from './redis-package.ts';

/** The client package. */
export type Redis = typeof Package;

let loaded: Redis | null = null;
let loading: Promise<Redis> | null = null;

/** Returns the client package, or null before it is loaded. */
export function loadedRedis(): Redis | null {
  return loaded;
}

/**
 * Loads the client package once per thread. A node that works alone never needs it.
 * Measured: it is 1 MB of JavaScript and a tenth of a second of processor time at a start.
 */
export function loadRedis(): Promise<Redis> {
  loading ??= import('./redis-package.ts').then((redis) => {
    redis.boundReplies(REPLY_BYTES_MAX, () => new ReplyTooLarge());
    loaded = redis;
    return redis;
  });
  return loading;
}
