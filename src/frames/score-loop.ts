import type { MessagePort } from 'node:worker_threads';
import { BatchReceiver } from './batch-queue.ts';
import type { ScorePost, ScoreSignal, ScoreTask } from './score-messages.ts';

/**
 * Choice: number of batches after which a busy worker yields to its event loop, so that asset swaps and the pool's own messages get
 * through: some 30 ms under load.
 */
const BATCHES_BETWEEN_TURNS = 64;

/** Main loop of a score worker: takes batch buffers, scores them, returns them, sleeps when there are none. */
export async function serveBatches(
  { memory, owner, port }: ScorePost,
  threadId: number,
  score: (task: ScoreTask) => Promise<void>,
): Promise<void> {
  const queue = new BatchReceiver(memory, owner);
  signal(port, { kind: 'ready', threadId });
  let batches = 0;
  while (!queue.stopped) {
    const task = queue.claim();
    if (task === null) {
      await queue.sleep();
      batches = 0;
      continue;
    }
    let failed = false;
    try {
      await score(task);
    } catch (error) {
      failed = true;
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      signal(port, { kind: 'failed', frame: task.frame, detail });
    }
    if (queue.giveBack(task.frame, failed)) signal(port, { kind: 'wake' });
    if (++batches === BATCHES_BETWEEN_TURNS) {
      batches = 0;
      await new Promise((done) => setImmediate(done));
    }
  }
  port.close();
}

function signal(port: MessagePort, message: ScoreSignal): void {
  port.postMessage(message);
}
