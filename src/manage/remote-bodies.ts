import type { BodyRead, RemoteBodies } from './body.ts';
import { WorkQueue } from './work-queue.ts';

/** Reads one body in a worker; `body` is given away. */
export type RunReader = (reader: string, body: Uint8Array<ArrayBuffer>, nowMs: number) => Promise<unknown>;

/**
 * One body after the other, and the customers in turn, so that one who sends bodies that take long delays each other one by a single
 * body. What may wait here is bounded by the calls that are in work.
 */
export function createRemoteBodies(run: RunReader): RemoteBodies {
  const queue = new WorkQueue({
    inWorkMax: 1,
    inWorkPerCustomerMax: 1,
    waitingMax: Number.POSITIVE_INFINITY,
    waitingPerCustomerMax: Number.POSITIVE_INFINITY,
    waitingBytesMax: Number.POSITIVE_INFINITY,
    waitingBytesPerCustomerMax: Number.POSITIVE_INFINITY,
    unsentBytesMax: Number.POSITIVE_INFINITY,
  });
  return {
    async read(customer, reader, body, nowMs) {
      const place = await queue.enter(customer, body.length);
      try {
        return (await run(reader, body, nowMs)) as BodyRead<unknown>;
      } finally {
        place.leave();
      }
    },
  };
}
