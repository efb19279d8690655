import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { Body } from '../../../src/egress/streaming-body.ts';

test.each([
  ['nothing', 0, 1],
  ['one chunk', 10, 10],
  ['several chunks', 1_000, 300],
  ['what just stays small', 1_048_576, 65_536],
  ['what just turns large', 1_048_577, 65_536],
  ['as much as may come', 3_000_000, 65_536],
])('Body returns %s byte for byte', (_what, bytes, chunkBytes) => {
  const whole = randomBytes(bytes);
  const body = new Body(3_000_000);
  for (let at = 0; at < bytes; at += chunkBytes) body.add(whole.subarray(at, at + chunkBytes));
  expect(body.take().equals(whole)).toBe(true);
});
