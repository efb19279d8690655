import { open, rename, rm, stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { forTerminal } from '../terminal-text.ts';

/** Destination of the records' bytes. */
export interface Sink {
  /** Resolves when more bytes may be written. Rejects with a `SinkFault`. */
  write(bytes: Uint8Array): Promise<void>;
  /** Call after the last byte. `keep`: keep what was written. */
  close(keep: boolean): Promise<void>;
}

/** The destination cannot be written, or not any longer. */
export class SinkFault extends Error {}

/**
 * Standard output; a terminal gets control characters of records escaped. Its reader may close it early, which is not a fault of the job:
 * the write then rejects like any other. The stream's own error needs a listener, or it ends the process.
 */
export function standardOutput(stdout: Writable & { readonly isTTY?: boolean }): Sink {
  stdout.on('error', () => {});
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (bytes.length === 0) {
          resolve();
          return;
        }
        const shown = stdout.isTTY === true ? forTerminal(Buffer.from(bytes).toString()) : bytes;
        stdout.write(shown, (error) => {
          if (error === null || error === undefined) resolve();
          else reject(new SinkFault('the reader of standard output has closed it'));
        });
      }),
    close: () => Promise.resolve(),
  };
}

/**
 * A file. Choice: it is written to a temporary file and renamed at the end, so that a run without records leaves the file of an earlier run
 * unchanged. A path that is no regular file, such as a pipe, is written directly. Rejects with a `SinkFault`.
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

/** Choice: limit of the records in the single JSON object of `--json`; larger results belong in a file. */
const HELD_BYTES_MAX = 33_554_432;

/** Holds the records in memory, for the single JSON object of `--json`. `records` parses what was written, which is NDJSON. */
export function holdRecords(): Sink & { records(): readonly unknown[] } {
  const held: Uint8Array[] = [];
  let bytes = 0;
  return {
    write(more) {
      bytes += more.length;
      if (bytes > HELD_BYTES_MAX) {
        return Promise.reject(new SinkFault(`the records have more than ${HELD_BYTES_MAX} bytes: use --out`));
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
