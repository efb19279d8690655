import { setTimeout as sleep } from 'node:timers/promises';
import type { Transport } from './transport.ts';

/** Choice: clients that wait for a response send the next request within this; a longer wait would only serve idle connections. */
const LAST_REQUESTS_MS = 1_000;
const LAST_REQUESTS_POLL_MS = 100;

/** Gives each connection of a closed port the time to send one more request, whose response closes it. */
export async function lastRequests(transport: Transport): Promise<void> {
  const startedAtMs = performance.now();
  do await sleep(LAST_REQUESTS_POLL_MS);
  while ((transport.connections?.open ?? 0) > 0 && performance.now() - startedAtMs < LAST_REQUESTS_MS);
}
