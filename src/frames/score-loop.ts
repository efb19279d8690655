import type { MessagePort } from 'node:worker_threads';
import { BatchReceiver } from './batch-queue.ts';
import type { ScorePost, ScoreSignal, ScoreTask } from './score-messages.ts';

/**
 * Choice: number of batches after which a busy worker yields to its event loop, so that asset swaps and the pool's own messages get
 * through: some 30 ms under load.
 */
const BATCHES_BETWEEN_TURNS = 64;

/** Scores the requests of a batch. */
export type Score = (task: ScoreTask) => Promise<void>;

/**
 * Main loop of a score worker: takes batch buffers, scores them, returns them, sleeps when there are none. Scores as many batches at a time
 * as there are `lanes`: while one waits for a round trip, the worker scores the next.
 */
export async function serveBatches(
  { memory, owner, port }: ScorePost,
  threadId: number,
  lanes: readonly Score[],
): Promise<void> {
  const queue = new BatchReceiver(memory, owner);
  signal(port, { kind: 'ready', threadId });
  const [score] = lanes;
  if (lanes.length > 1) await serveOverlapped(queue, port, lanes);
  else if (score !== undefined) await serveOneByOne(queue, port, score);
  port.close();
}

async function serveOneByOne(queue: BatchReceiver, port: MessagePort, score: Score): Promise<void> {
  let batches = 0;
  while (!queue.stopped) {
    const task = queue.claim();
    if (task === null) {
      await queue.sleep();
      batches = 0;
      continue;
    }
    await serve(queue, port, task, score);
    if (++batches === BATCHES_BETWEEN_TURNS) {
      batches = 0;
      await turn();
    }
  }
}

async function serveOverlapped(queue: BatchReceiver, port: MessagePort, lanes: readonly Score[]): Promise<void> {
  const free = [...lanes];
  let onFree: (() => void) | null = null;
  let batches = 0;
  const run = async (task: ScoreTask, lane: Score): Promise<void> => {
    await serve(queue, port, task, lane);
    free.push(lane);
    onFree?.();
  };
  while (!queue.stopped) {
    if (free.length === 0) {
      await new Promise<void>((freed) => (onFree = freed));
      continue;
    }
    const task = queue.claim();
    const lane = task === null ? undefined : free.pop();
    if (task === null || lane === undefined) {
      await queue.sleep();
      batches = 0;
      continue;
    }
    void run(task, lane);
    if (++batches === BATCHES_BETWEEN_TURNS) {
      batches = 0;
      await turn();
    }
  }
  while (free.length < lanes.length) await new Promise<void>((freed) => (onFree = freed));
}

async function serve(queue: BatchReceiver, port: MessagePort, task: ScoreTask, score: Score): Promise<void> {
  let failed = false;
  try {
    await score(task);
  } catch (error) {
    failed = true;
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    signal(port, { kind: 'failed', frame: task.frame, detail });
  }
  if (queue.giveBack(task.frame, failed)) signal(port, { kind: 'wake' });
}

function turn(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}

function signal(port: MessagePort, message: ScoreSignal): void {
  port.postMessage(message);
}
