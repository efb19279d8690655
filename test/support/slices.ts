import { Slices, Turns } from '../../src/store/turns.ts';

/** Slices that give way to nothing. */
export function freeSlices(): Slices {
  return new Slices(new Turns());
}

/** An exchange's `sendPieces` by its `send`. */
export function sendWhole(
  send: (status: number, fields: string, body: string) => void,
): (status: number, fields: string, pieces: readonly Uint8Array[]) => Promise<void> {
  return (status, fields, pieces) => {
    send(status, fields, Buffer.concat(pieces).toString());
    return Promise.resolve();
  };
}
