import { expect, test } from 'vitest';
import { Batcher } from '../../../src/decide/batcher.ts';
import { createFrame } from '../../../src/pools/frame.ts';

test('answers that throw cost their batch only: the frame comes back, and later batches are answered', async () => {
  const answered: string[] = [];
  const failures: unknown[] = [];
  let runs = 0;
  const batcher = new Batcher<string>({
    frames: [createFrame(), createFrame()],
    inFlightMax: 1,
    // The third batch fails in its worker, and is then answered one request at a time.
    run: () => (++runs === 3 ? Promise.reject(new Error('worker')) : Promise.resolve()),
    attend: () => {},
    onBatch: () => {},
    onAnswers(pending) {
      for (const name of pending) {
        if (name.startsWith('bad')) throw new Error(name);
        answered.push(name);
      }
    },
    onBatchFailed: (error) => void failures.push(error),
  });
  for (const name of ['bad 1', 'good 2', 'bad 3', 'good 4', 'good 5']) {
    expect(batcher.isFull()).toBe(false);
    batcher.add(Buffer.from('{}'), 1, 0, 0, name);
    await batcher.drain();
  }
  expect(answered).toEqual(['good 2', 'good 4', 'good 5']);
  expect(failures.map(String)).toEqual(['Error: bad 1', 'Error: worker', 'Error: bad 3']);
});
