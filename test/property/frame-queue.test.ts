import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFrameQueueMemory, FrameReceiver, FrameSender } from '../../src/pools/frame-queue.ts';

const FRAMES = 40;

describe('the frame queue', () => {
  test('every frame that was sent is claimed once, in order, and comes back as it was given back', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('send' as const), frame: fc.nat(FRAMES - 1) }),
      fc.record({ kind: fc.constant('claim' as const), owner: fc.nat(2) }),
      fc.record({ kind: fc.constant('back' as const), failed: fc.boolean() }),
      fc.record({ kind: fc.constant('take' as const) }),
      fc.record({ kind: fc.constant('die' as const), owner: fc.nat(2) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const memory = createFrameQueueMemory(FRAMES);
        const sender = new FrameSender(memory);
        const owners = [0, 1, 2].map((owner) => new FrameReceiver(memory, owner));
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

  test('a worker that gives back says whether the main thread has to be woken', () => {
    const memory = createFrameQueueMemory(1);
    const sender = new FrameSender(memory);
    const worker = new FrameReceiver(memory, 0);
    for (const awake of [false, true]) {
      sender.setAwake(awake);
      sender.send({ frame: 0, from: 0, count: 1 });
      expect(worker.claim()).not.toBeNull();
      expect(worker.giveBack(0, false)).toBe(!awake);
      expect(sender.take(0)).toBe('done');
    }
  });

  test('sleep ends with a frame and with the stop, and at once when a frame is there', async () => {
    const memory = createFrameQueueMemory(1);
    const sender = new FrameSender(memory);
    const worker = new FrameReceiver(memory, 0);
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
