import type { StreamedBody } from '../../src/http/exchange.ts';
import { Slices, Turns } from '../../src/state/tables/turns.ts';

/** Slices that never yield. */
export function freeSlices(): Slices {
  return new Slices(new Turns());
}

/** Implements `sendStream` of an exchange with its `send`. */
export function sendWhole(
  send: (status: number, fields: string, body: string) => void,
): (status: number, fields: string, body: StreamedBody) => Promise<void> {
  return async (status, fields, { pieces }) => {
    const all: Uint8Array[] = [];
    for await (const piece of pieces) all.push(piece);
    send(status, fields, Buffer.concat(all).toString());
  };
}
