import type { BodyRead, RemoteBodies } from './request-body.ts';
import { WorkQueue } from './work-queue.ts';

/** Reads one body in a worker. Transfers `body`. */
export type RunReader = (reader: string, body: Uint8Array<ArrayBuffer>, nowMs: number) => Promise<unknown>;

/**
 * Reads one body at a time and serves customers in turn, so that a customer whose bodies take long delays each other customer by at most
 * one body. `rest` resolves when the next body may follow one that took `workMs` and whose call holds the main thread for `heldMs`. The
 * queue needs no limits: the number of running calls bounds it.
 */
export function createRemoteBodies(
  run: RunReader,
  rest: (workMs: number, heldMs: number) => Promise<void>,
): RemoteBodies {
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
      let heldMs = 0;
      try {
        // The worker runs the same reader, selected by its name.
        const read = (await run(reader.name, body, nowMs)) as BodyRead<unknown>;
        if (read.kind === 'read') heldMs = reader.heldMs?.(read.value) ?? 0;
        return read;
      } finally {
        void rest(performance.now() - startedMs, heldMs).then(() => place.leave());
      }
    },
  };
}
