import type { BodyRead, RemoteBodies } from './request-body.ts';
import { WorkQueue } from './work-queue.ts';

/** Reads one body in a worker. Transfers `body`. */
export type RunReader = (reader: string, body: Uint8Array<ArrayBuffer>, nowMs: number) => Promise<unknown>;

/**
 * Reads one body at a time and serves customers in turn, so that a customer whose bodies take long delays each other customer by at most
 * one body. `rest` resolves when the next body may follow one that took this long. The queue needs no limits: the number of running calls
 * bounds it.
 */
export function createRemoteBodies(run: RunReader, rest: (workMs: number) => Promise<void>): RemoteBodies {
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
      const startedMs = performance.now();
      try {
        return (await run(reader, body, nowMs)) as BodyRead<unknown>;
      } finally {
        void rest(performance.now() - startedMs).then(() => place.leave());
      }
    },
  };
}
