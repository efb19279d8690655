import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createBatchQueueMemory, BatchReceiver, BatchSender } from '../../src/frames/batch-queue.ts';

const FRAMES = 40;

describe('the batch queue', () => {
  test('Every batch buffer that was sent is claimed once, in order, and returns with the state it was given back with', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('send' as const), frame: fc.nat(FRAMES - 1) }),
      fc.record({ kind: fc.constant('claim' as const), owner: fc.nat(2) }),
      fc.record({ kind: fc.constant('back' as const), failed: fc.boolean() }),
      fc.record({ kind: fc.constant('take' as const) }),
      fc.record({ kind: fc.constant('die' as const), owner: fc.nat(2) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const memory = createBatchQueueMemory(FRAMES);
        const sender = new BatchSender(memory);
        const owners = [0, 1, 2].map((owner) => new BatchReceiver(memory, owner));
        const queued: number[] = [];
        const held: { frame: number; owner: number }[] = [];
        const back = new Map<number, 'done' | 'failed'>();
        const out = new Set<number>();
        for (const one of steps) {
          switch (one.kind) {
            case 'send':
              if (out.has(one.frame)) break;
              out.add(one.frame);
              queued.push(one.frame);
              sender.send({ frame: one.frame, from: one.frame % 3, count: one.frame });
              break;
            case 'claim': {
              const claimed = owners[one.owner]?.claim() ?? null;
              const expected = queued.shift();
              expect(claimed).toEqual(
                expected === undefined ? null : { frame: expected, from: expected % 3, count: expected },
              );
              if (expected !== undefined) held.push({ frame: expected, owner: one.owner });
              break;
            }
            case 'back': {
              const own = held.shift();
              if (own === undefined) break;
              owners[own.owner]?.giveBack(own.frame, one.failed);
              back.set(own.frame, one.failed ? 'failed' : 'done');
              break;
            }
            case 'take':
              for (const frame of out) {
                const state = sender.take(frame);
                expect(state).toBe(back.get(frame) ?? 'out');
                if (state === 'out') continue;
                back.delete(frame);
                out.delete(frame);
              }
              break;
            case 'die':
              for (const frame of out) {
                const at = held.findIndex((own) => own.frame === frame && own.owner === one.owner);
                expect(sender.takeFromDead(frame, one.owner)).toBe(at >= 0);
                if (at < 0) continue;
                held.splice(at, 1);
                out.delete(frame);
              }
              break;
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  test('A worker that gives a buffer back reports whether the main thread must be woken', () => {
    const memory = createBatchQueueMemory(1);
    const sender = new BatchSender(memory);
    const worker = new BatchReceiver(memory, 0);
    for (const awake of [false, true]) {
      sender.setAwake(awake);
      sender.send({ frame: 0, from: 0, count: 1 });
      expect(worker.claim()).not.toBeNull();
      expect(worker.giveBack(0, false)).toBe(!awake);
      expect(sender.take(0)).toBe('done');
    }
  });

  test('Only the first of several buffers that come back wakes the main thread, until it sleeps again', () => {
    const memory = createBatchQueueMemory(3);
    const sender = new BatchSender(memory);
    const workers = [new BatchReceiver(memory, 0), new BatchReceiver(memory, 1)];
    for (let sleep = 0; sleep < 2; sleep++) {
      sender.setAwake(false);
      for (const frame of [0, 1, 2]) sender.send({ frame, from: 0, count: 1 });
      const woken = [0, 1, 0].map((at) => {
        const claim = workers[at]?.claim();
        return workers[at]?.giveBack(claim?.frame ?? -1, false);
      });
      expect(woken).toEqual([true, false, false]);
      expect([0, 1, 2].map((frame) => sender.take(frame))).toEqual(['done', 'done', 'done']);
    }
  });

  test('A sleeping worker wakes up for a buffer and for the stop, and does not sleep when a buffer is queued', async () => {
    const memory = createBatchQueueMemory(1);
    const sender = new BatchSender(memory);
    const worker = new BatchReceiver(memory, 0);
    const first = worker.sleep();
    sender.send({ frame: 0, from: 0, count: 1 });
    await first;
    await worker.sleep();
    expect(worker.claim()).toEqual({ frame: 0, from: 0, count: 1 });
    const second = worker.sleep();
    sender.stop();
    await second;
    expect(worker.stopped).toBe(true);
  });
});

describe('the batch queue between threads', () => {
  test('Two workers that sleep and wake process 20,000 buffers, each once, and both end at the stop', async () => {
    const { Worker, MessageChannel } = await import('node:worker_threads');
    const frames = 8;
    const memory = createBatchQueueMemory(frames);
    const sender = new BatchSender(memory);
    const counts = new Int32Array(new SharedArrayBuffer(frames * 4));
    const queueUrl = new URL('../../dist/src/frames/batch-queue.js', import.meta.url).href;
    const code = `
      import { workerData } from 'node:worker_threads';
      const { BatchReceiver } = await import(workerData.queueUrl);
      const queue = new BatchReceiver(workerData.memory, workerData.owner);
      // Waiting on shared memory keeps no thread alive.
      const alive = setInterval(() => {}, 1000);
      while (!queue.stopped) {
        const claim = queue.claim();
        if (claim === null) { await queue.sleep(); continue; }
        Atomics.add(workerData.counts, claim.frame, claim.count);
        if (queue.giveBack(claim.frame, false)) workerData.port.postMessage(0);
      }
      clearInterval(alive);
      workerData.port.close();
    `;
    let wake = (): void => {};
    const workers = [0, 1].map((owner) => {
      const { port1, port2 } = new MessageChannel();
      port1.on('message', () => wake());
      return new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
        workerData: { queueUrl, memory, counts, owner, port: port2 },
        transferList: [port2],
      });
    });
    const ended = workers.map((worker) => new Promise((done) => worker.once('exit', done)));
    const total = 20_000;
    let sent = 0;
    let back = 0;
    const out = new Set<number>();
    while (back < total) {
      for (let frame = 0; frame < frames && sent < total; frame++) {
        if (out.has(frame)) continue;
        out.add(frame);
        sent++;
        sender.send({ frame, from: 0, count: 1 });
      }
      const taken = [...out].filter((frame) => sender.take(frame) === 'done');
      for (const frame of taken) out.delete(frame);
      back += taken.length;
      if (taken.length > 0) continue;
      // Sleeps only after a final check that follows the announcement of the sleep, like the pool.
      await new Promise<void>((resolve) => {
        wake = resolve;
        sender.setAwake(false);
        const late = [...out].filter((frame) => sender.take(frame) === 'done');
        for (const frame of late) out.delete(frame);
        back += late.length;
        if (late.length > 0) resolve();
      });
      sender.setAwake(true);
    }
    sender.stop();
    expect(await Promise.all(ended)).toEqual([0, 0]);
    expect([...counts].reduce((sum, count) => sum + count, 0)).toBe(total);
  });
});
