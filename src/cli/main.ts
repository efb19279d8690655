#!/usr/bin/env node
import { writeSync } from 'node:fs';
import { stopSignal } from './extract/stop-signal.ts';
import { run } from './run.ts';

/** At once, so that an end by signal right after loses nothing. */
function write(file: 1 | 2, text: string): void {
  let left = Buffer.from(text);
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(file, left));
    } catch (error) {
      // A pipe whose reader is slow says EAGAIN, one whose reader has gone says EPIPE.
      if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') continue;
      return;
    }
  }
}

const { env, stdin, stdout } = process;
const exitCode = await run(process.argv.slice(2), { env, stdin, stdout, write, stopSignal });
// A server that did not start has set its own.
if (exitCode !== 0) process.exitCode = exitCode;
