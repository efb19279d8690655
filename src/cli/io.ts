import type { Readable, Writable } from 'node:stream';

/** What a command reads and writes: the process' own environment and streams, or a test's. */
export interface Io {
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly stdin: Readable;
  /** For records. */
  readonly stdout: Writable & { readonly isTTY?: boolean };
  /** Writes text to standard output (1) or standard error (2). */
  write(this: void, file: 1 | 2, text: string): void;
  /** Starts to listen for what ends a job in order, such as Ctrl-C. */
  stopSignal(this: void): AbortSignal;
}
