import { MessageChannel } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { BatchSender, createBatchQueueMemory } from '../../../src/frames/batch-queue.ts';
import { type Score, serveBatches } from '../../../src/frames/score-loop.ts';

const FRAMES = 8;

/** A loop, and batches that end when the test lets them. */
function startLoop(lanes: number) {
  const memory = createBatchQueueMemory(FRAMES);
  const sender = new BatchSender(memory);
  const { port1, port2 } = new MessageChannel();
  const failed: string[] = [];
  port1.on('message', (message: { readonly kind: string; readonly detail?: string }) => {
    if (message.kind === 'failed') failed.push(message.detail ?? '');
  });
  /** Batch buffer → ends its batch. */
  const begun = new Map<number, (error?: Error) => void>();
  const score: Score = ({ frame }) =>
    new Promise((done, fail) => begun.set(frame, (error) => (error === undefined ? done() : fail(error))));
  const scores = Array.from({ length: lanes }, () => score);
  const loop = serveBatches({ memory, owner: 1, port: port2 }, 1, scores);
  return {
    sender,
    begun,
    failed,
    send(...frames: readonly number[]) {
      for (const frame of frames) sender.send({ frame, from: 0, count: 1 });
    },
    async stop() {
      sender.stop();
      for (const end of begun.values()) end();
      await loop;
      port1.close();
    },
  };
}

/** Polls until it holds. */
async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!holds()) {
    if (performance.now() > end) throw new Error('timed out');
    await new Promise((done) => setTimeout(done, 1));
  }
}

/** Turns of the event loop in which nothing more may begin. */
async function someTurns(): Promise<void> {
  for (let n = 0; n < 50; n++) await new Promise((done) => setImmediate(done));
}

describe('the loop of a score worker', () => {
  test.each([1, 2, 3])(
    'With %i lanes the loop scores that many batches at a time, and the next begins when one ends',
    async (lanes) => {
      const loop = startLoop(lanes);
      loop.send(0, 1, 2, 3, 4);
      await until(() => loop.begun.size === lanes);
      await someTurns();
      expect([...loop.begun.keys()]).toEqual([0, 1, 2, 3, 4].slice(0, lanes));
      // The last one ends first: its buffer comes back before the others.
      loop.begun.get(lanes - 1)?.();
      await until(() => loop.sender.take(lanes - 1) === 'done');
      await until(() => loop.begun.size === lanes + 1);
      for (let frame = 0; frame < lanes - 1; frame++) expect(loop.sender.take(frame)).toBe('out');
      await loop.stop();
    },
  );

  test('A batch that arrives while another waits begins at once', async () => {
    const loop = startLoop(2);
    loop.send(5);
    await until(() => loop.begun.has(5));
    await someTurns();
    loop.send(6);
    await until(() => loop.begun.has(6));
    expect(loop.sender.take(5)).toBe('out');
    await loop.stop();
  });

  test.each([1, 2])('With %i lanes a batch that fails comes back as failed, and the loop goes on', async (lanes) => {
    const loop = startLoop(lanes);
    loop.send(1);
    await until(() => loop.begun.has(1));
    loop.begun.get(1)?.(new Error('poisoned'));
    await until(() => loop.sender.take(1) === 'failed');
    await until(() => loop.failed.length === 1);
    expect(loop.failed[0]).toContain('poisoned');
    loop.send(2);
    await until(() => loop.begun.has(2));
    await loop.stop();
  });

  test('A stop waits for the batches that are being scored', async () => {
    const loop = startLoop(2);
    loop.send(0, 1);
    await until(() => loop.begun.size === 2);
    await loop.stop();
    expect([loop.sender.take(0), loop.sender.take(1)]).toEqual(['done', 'done']);
  });
});
