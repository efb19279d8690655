import { open, rename, rm, stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';

/** Where bytes of records go. */
export interface Sink {
  /** Resolves when more may come. Rejects with a `SinkFault`. */
  write(bytes: Uint8Array): Promise<void>;
  /** After the last byte. `keep`: what was written is worth having. */
  close(keep: boolean): Promise<void>;
}

/** Nothing can be written there, or no more. */
export class SinkFault extends Error {}

/**
 * Standard output. Its reader may go before the end, which is no fault of the job: that is a rejection like any other, and the
 * stream's own error must have a listener or it ends the process.
 */
export function standardOutput(stdout: Writable): Sink {
  stdout.on('error', () => {});
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (bytes.length === 0) {
          resolve();
          return;
        }
        stdout.write(bytes, (error) => {
          if (error === null || error === undefined) resolve();
          else reject(new SinkFault('the reader of standard output has gone'));
        });
      }),
    close: () => Promise.resolve(),
  };
}

/**
 * A file. Choice: it is written beside its place and put there at the end, so that a run that gathers nothing leaves the file of an
 * earlier one as it was; a place that is no file, such as a pipe, is written to directly. Rejects with a `SinkFault`.
 */
export async function openFile(path: string): Promise<Sink> {
  const found = await stat(path).catch(() => null);
  const isPlain = found === null || found.isFile();
  const written = isPlain ? `${path}.part` : path;
  const file = await open(written, 'w').catch((error: unknown) => {
    throw faultOf(path, error);
  });
  return {
    async write(bytes) {
      try {
        await file.writeFile(bytes);
      } catch (error) {
        throw faultOf(path, error);
      }
    },
    async close(keep) {
      try {
        await file.close();
        if (isPlain && keep) await rename(written, path);
        else if (isPlain) await rm(written, { force: true });
      } catch (error) {
        throw faultOf(path, error);
      }
    },
  };
}

/** Choice: of the records in the one object of `--json`; what is more belongs in a file. */
const HELD_BYTES_MAX = 33_554_432;

/** In memory, for the one object of `--json`. `records` parses what was written, which is NDJSON. */
export function holdRecords(): Sink & { records(): readonly unknown[] } {
  const held: Uint8Array[] = [];
  let bytes = 0;
  return {
    write(more) {
      bytes += more.length;
      if (bytes > HELD_BYTES_MAX) {
        return Promise.reject(new SinkFault(`the records have more than ${HELD_BYTES_MAX} bytes: give --out`));
      }
      held.push(more);
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
    records: () =>
      Buffer.concat(held)
        .toString('utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line): unknown => JSON.parse(line)),
  };
}

function faultOf(path: string, error: unknown): SinkFault {
  return new SinkFault(`${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
}
