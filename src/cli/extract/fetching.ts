import { setTimeout as sleep } from 'node:timers/promises';
import { createGuardedClient } from '../../egress/client.ts';
import { BodyCache } from '../../extract/fetch/body-cache.ts';
import type { FetchParts } from '../../extract/fetch/parts.ts';
import { RobotsCache } from '../../extract/fetch/robots-cache.ts';
import { EXTRACT_USER_AGENT } from '../../limits.ts';

export interface Fetching {
  readonly parts: Omit<FetchParts, 'polite'>;
  /** Ends all requests and waits, so that nothing keeps the process up. */
  close(): void;
}

/** The guarded client and what else fetches need, for one job in this process. */
export function openFetching(egressAllow: readonly string[]): Fetching {
  const client = createGuardedClient({ allow: egressAllow });
  const waits = new AbortController();
  const clock = {
    nowMs: () => Date.now(),
    wait: async (ms: number) => sleep(ms, undefined, { signal: waits.signal }),
  };
  const parts = {
    client,
    robots: new RobotsCache(),
    bodies: new BodyCache(),
    clock,
    random: Math.random,
    userAgent: EXTRACT_USER_AGENT,
  };
  return {
    parts,
    close() {
      waits.abort();
      client.close();
    },
  };
}
