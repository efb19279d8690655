import { parentPort, workerData } from 'node:worker_threads';
import { openCell } from '../src/app/cell.ts';
import { HttpThreadServer } from '../src/http/http-thread.ts';
import type { HttpThreadData } from '../src/http/thread-messages.ts';

/** A cell: a thread that serves HTTP and decides. The work itself is in `src/http` and `src/decide`. */

const data = workerData as HttpThreadData;
if (parentPort !== null) new HttpThreadServer(parentPort, data.taken, openCell).start(data);
