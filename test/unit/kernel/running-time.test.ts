import { expect, test } from 'vitest';
import { setImmediate as turn } from 'node:timers/promises';
import { runningTimer } from '../../../src/kernel/running-time.ts';
import { pauseThread } from '../../support/pause-thread.ts';

test('The timer fires when its time has passed', async () => {
  const before = performance.now();
  await runningTimer(200).passed;
  expect(performance.now() - before).toBeGreaterThanOrEqual(195);
});

test('A pause of the whole thread does not count as running time', async () => {
  let hasPassed = false;
  const timer = runningTimer(400);
  void timer.passed.then(() => (hasPassed = true));
  pauseThread(800);
  await turn();
  await turn();
  expect(hasPassed).toBe(false);
  await timer.passed;
  timer.cancel();
});

test('A cancelled timer never fires', async () => {
  let hasPassed = false;
  const timer = runningTimer(40);
  void timer.passed.then(() => (hasPassed = true));
  timer.cancel();
  await runningTimer(120).passed;
  expect(hasPassed).toBe(false);
});
