import { setTimeout as sleep } from 'node:timers/promises';
import { createGuardedClient } from '../../egress/guarded-client.ts';
import { BodyCache } from '../../extract/fetch/body-cache.ts';
import type { FetchParts } from '../../extract/fetch/fetch-parts.ts';
import { RobotsCache } from '../../extract/fetch/robots-cache.ts';
import { EXTRACT_USER_AGENT } from '../../kernel/limits.ts';

export interface Fetching {
  readonly parts: Omit<FetchParts, 'polite'>;
  /** Cancels all requests and waits, so that nothing keeps the process alive. */
  close(): void;
}

/** Creates the SSRF-guarded client and the other parts that fetches need, for one job in this process. */
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
