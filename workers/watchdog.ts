import { write } from 'node:fs';
import { workerData } from 'node:worker_threads';
import type { WatchdogData } from '../src/app/watchdog.ts';

/** Ends the process when its main thread hangs: see `startWatchdog`. */

/** Choice: writing the line must not keep the process, if nobody reads standard output. */
const WRITE_MS_MAX = 1_000;
/** Standard output, as for every line of the log. */
const LOG_FILE = 1;

const { memory, observations, everyMs, isLogged } = workerData as WatchdogData;
const words = new Int32Array(memory);
let seen = -1;
let alike = 0;

setInterval(() => {
  const beats = Atomics.load(words, 0);
  const isTurning = beats !== seen || Atomics.load(words, 1) === 1;
  seen = beats;
  alike = isTurning ? 0 : alike + 1;
  if (alike === observations) report();
}, everyMs);

function report(): void {
  if (!isLogged) return end();
  const line = {
    level: 'fatal',
    time: new Date().toISOString(),
    stuck_seconds: Math.round((observations * everyMs) / 1_000),
    msg: 'the main thread is stuck; exiting for a restart by the supervisor',
  };
  setTimeout(end, WRITE_MS_MAX);
  write(LOG_FILE, `${JSON.stringify(line)}\n`, end);
}

/** A signal without a handler, because a thread can end the process in no other way. */
function end(): void {
  process.kill(process.pid, 'SIGALRM');
}
