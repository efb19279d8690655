import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BATCH_BODY_BYTES_MAX, BATCH_REQUESTS_MAX, DECIDE_BODY_BYTES_MAX } from '../../src/kernel/limits.ts';
import {
  AnswerReader,
  AnswerWriter,
  createBatchBuffers,
  BatchReader,
  BatchWriter,
  type Answer,
} from '../../src/frames/batch-buffer.ts';

// Created once, with neighbours, like in the pool; every run begins with a reset.
const [, frame, next] = createBatchBuffers(3);
if (frame === undefined || next === undefined) throw new Error('there are fewer batch buffers');
const writer = new BatchWriter(frame);
const reader = new BatchReader(frame);
const answers = new AnswerWriter(frame);
const read = new AnswerReader(frame);

const word = fc.integer({ min: 0, max: 0xffff_ffff });
const request = fc.record({
  body: fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc
      .tuple(fc.integer({ min: 0, max: DECIDE_BODY_BYTES_MAX }), fc.nat(255))
      .map(([length, fill]) => new Uint8Array(length).fill(fill)),
  ),
  customerNumber: word,
  flags: word,
  nowMs: fc.double({ noNaN: true }),
  originHash: fc.nat({ max: 2 ** 48 - 1 }),
});

const ascii = fc.string({ unit: 'binary-ascii', maxLength: 400 });
const answer: fc.Arbitrary<Answer> = fc.record({
  status: fc.constantFrom(200, 400, 413, 429, 500),
  decision: fc.nat(4),
  flags: fc.nat(255),
  score: fc.nat(1_000).map((tenths) => tenths / 10),
  rulesLow: word,
  rulesHigh: word,
  rulesTop: word,
  text: fc.oneof(
    ascii,
    fc.nat(4_000).map((length) => 'x'.repeat(length)),
  ),
  record: fc.uint8Array({ maxLength: 400 }),
});

describe('a batch buffer', () => {
  test('The worker reads exactly what was written into the batch buffer, as long as it had room', () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: BATCH_REQUESTS_MAX + 6 }), (requests) => {
        writer.reset();
        const taken: typeof requests = [];
        let bytes = 0;
        for (const one of requests) {
          const room = taken.length < BATCH_REQUESTS_MAX && bytes + one.body.length <= BATCH_BODY_BYTES_MAX;
          expect(writer.hasRoom(one.body.length)).toBe(room);
          if (!room) continue;
          expect(writer.add(one.body, one.customerNumber, one.flags, one.nowMs, one.originHash)).toBe(taken.length);
          taken.push(one);
          bytes += one.body.length;
        }
        expect(writer.count).toBe(taken.length);
        for (const [at, { body, customerNumber, flags, nowMs, originHash }] of taken.entries()) {
          expect(Buffer.compare(reader.body(at), body)).toBe(0);
          expect(reader.meta(at)).toEqual({ customerNumber, flags, nowMs, originHash });
        }
      }),
    );
  });

  test('A batch buffer holds the maximum number of small bodies, and as many of the largest bodies as fit into its bytes', () => {
    writer.reset();
    for (let i = 0; i < BATCH_REQUESTS_MAX; i++) writer.add(new Uint8Array(10), 1, 0, 0);
    expect(writer.hasRoom(0)).toBe(false);
    writer.reset();
    const largest = new Uint8Array(DECIDE_BODY_BYTES_MAX);
    let taken = 0;
    for (let i = 0; i < BATCH_REQUESTS_MAX; i++) {
      if (!writer.hasRoom(largest.length)) break;
      writer.add(largest, 1, 0, 0);
      taken++;
    }
    expect(taken).toBe(BATCH_BODY_BYTES_MAX / DECIDE_BODY_BYTES_MAX);
    expect(taken).toBeLessThan(BATCH_REQUESTS_MAX);
    writer.reset();
    expect(writer.hasRoom(largest.length)).toBe(true);
  });

  test('A batch buffer copies the body, so later changes by the caller have no effect', () => {
    writer.reset();
    const body = new Uint8Array([1, 2, 3]);
    writer.add(body, 1, 0, 0);
    body.fill(9);
    expect([...reader.body(0)]).toEqual([1, 2, 3]);
  });

  test('The main thread reads exactly what the worker answered, in any order of writing', () => {
    const batch = fc
      .array(answer, { maxLength: BATCH_REQUESTS_MAX })
      .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray([...all.keys()], { minLength: all.length })));
    fc.assert(
      fc.property(batch, ([all, order]) => {
        answers.reset();
        for (const at of order) answers.write(at, all[at] ?? NO_ANSWER);
        for (const [at, one] of all.entries()) {
          expect(read.status(at)).toBe(one.status);
          expect(read.decision(at)).toBe(one.decision);
          expect(read.flags(at)).toBe(one.flags);
          expect(read.score(at)).toBe(one.score);
          expect(read.rulesLow(at)).toBe(one.rulesLow);
          expect(read.rulesHigh(at)).toBe(one.rulesHigh);
          expect(read.rulesTop(at)).toBe(one.rulesTop);
          expect(read.text(at)).toBe(one.text);
          expect([...read.record(at)]).toEqual([...one.record]);
        }
      }),
    );
  });

  test('Responses of 8,192 bytes fit for a whole batch, a record that does not fit is omitted, and a text that does not fit is an error', () => {
    answers.reset();
    const large: Answer = { ...NO_ANSWER, text: 'x'.repeat(8_192) };
    const last = BATCH_REQUESTS_MAX - 1;
    for (let at = 0; at < last; at++) answers.write(at, large);
    answers.write(last, { ...large, text: 'y'.repeat(8_000), record: Buffer.alloc(200) });
    expect(read.text(last)).toBe('y'.repeat(8_000));
    expect(read.record(last).length).toBe(0);
    expect(read.text(last - 1)).toBe(large.text);
    expect(() => answers.write(last, large)).toThrow('does not fit');
  });

  test('Nothing that the tests before wrote is in the neighbours of the batch buffer', () => {
    const { memory, at } = frame;
    const neighbours = [Buffer.from(memory, 0, at), Buffer.from(memory, next.at)];
    for (const bytes of neighbours) expect(bytes.equals(Buffer.alloc(bytes.length))).toBe(true);
  });
});

const NO_ANSWER: Answer = {
  status: 200,
  decision: 0,
  flags: 0,
  score: 0,
  rulesLow: 0,
  rulesHigh: 0,
  text: '',
  record: new Uint8Array(0),
};
