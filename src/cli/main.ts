#!/usr/bin/env node
import { writeSync } from 'node:fs';
import { stopSignal } from './extract/stop-signal.ts';
import { run } from './run.ts';

/** Writes synchronously, so that a signal right afterwards loses nothing. */
function write(file: 1 | 2, text: string): void {
  let left = Buffer.from(text);
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(file, left));
    } catch (error) {
      // A pipe with a slow reader gives EAGAIN, one whose reader has closed it gives EPIPE.
      if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') continue;
      return;
    }
  }
}

const { env, stdin, stdout } = process;
const exitCode = await run(process.argv.slice(2), { env, stdin, stdout, write, stopSignal });
// A server that failed to start has set its own exit code.
if (exitCode !== 0) process.exitCode = exitCode;
