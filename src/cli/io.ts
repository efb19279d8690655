import type { Readable, Writable } from 'node:stream';

/** The input and output of a command: the process's own environment and streams, or a test's. */
export interface Io {
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly stdin: Readable;
  /** For records. */
  readonly stdout: Writable & { readonly isTTY?: boolean };
  /** Writes text to standard output (1) or standard error (2). */
  write(this: void, file: 1 | 2, text: string): void;
  /** Starts to listen for signals that stop a job gracefully, such as Ctrl-C. */
  stopSignal(this: void): AbortSignal;
}
