import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createVelocityMemory, type VelocityMemory } from '../../../src/velocity/memory.ts';
import { SnapshotWriter } from '../../../src/velocity/snapshot-writer.ts';
import { loadSnapshot, SNAPSHOT_NAME } from '../../../src/velocity/snapshot.ts';
import {
  createMarksMemory,
  idOfWord,
  MARKS_BYTES,
  SEQUENCE_MAX,
  StreamMarks,
  STREAMS,
  wordOfId,
} from '../../../src/velocity/stream-marks.ts';
import { HASH_KEY, NOW_MS, SECOND, World } from './events.ts';

const MIB = 2 ** 20;
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'marks-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const save = async (memory: VelocityMemory): Promise<void> =>
  expect(await new SnapshotWriter(folder, memory).save(NOW_MS)).toMatchObject({ kind: 'saved' });

function load(): { readonly memory: VelocityMemory; readonly marks: StreamMarks; readonly kind: string } {
  const memory = createVelocityMemory(MIB, HASH_KEY);
  const { kind } = loadSnapshot(folder, memory, NOW_MS);
  return { memory, marks: new StreamMarks(memory.marks), kind };
}

describe('the marks of streams', () => {
  test('An id in one word is the same id again, and words are ordered as ids are', () => {
    const id = fc.tuple(fc.integer({ min: 0, max: 2 ** 42 - 1 }), fc.integer({ min: 0, max: SEQUENCE_MAX }));
    fc.assert(
      fc.property(id, id, ([ms, sequence], [otherMs, otherSequence]) => {
        const [one, other] = [wordOfId(`${ms}-${sequence}`), wordOfId(`${otherMs}-${otherSequence}`)];
        expect(idOfWord(one)).toBe(`${ms}-${sequence}`);
        expect(one < other).toBe(ms < otherMs || (ms === otherMs && sequence < otherSequence));
      }),
    );
  });

  test('An entry can be claimed once, by one of two threads, and never after a later one', () => {
    const memory = createMarksMemory();
    const [one, other] = [new StreamMarks(memory), new StreamMarks(memory)];
    expect([one.claim(3, 5n), other.claim(3, 5n)]).toEqual([true, false]);
    expect([other.claim(3, 7n), one.claim(3, 6n), one.claim(3, 7n)]).toEqual([true, false, false]);
    expect([one.read(3), one.read(2), one.claim(2, 1n)]).toEqual([7n, 0n, true]);
  });

  test('Counters of all threads add up, levels go down again, times of events only rise', () => {
    const memory = createMarksMemory();
    const [one, other] = [new StreamMarks(memory), new StreamMarks(memory)];
    one.add('waiting', 5);
    other.add('waiting', -3);
    one.sawAt(STREAMS - 1, NOW_MS);
    other.sawAt(STREAMS - 1, NOW_MS - SECOND);
    expect([one.count('waiting'), other.newestMs(STREAMS - 1), one.newestMs(0)]).toEqual([2, NOW_MS, 0]);
  });

  test('What happened in one thread is as long ago in all others, whatever happens to the clock of the system', () => {
    vi.useFakeTimers({ toFake: ['Date', 'hrtime'] });
    try {
      const memory = createMarksMemory();
      const [one, other] = [new StreamMarks(memory), new StreamMarks(memory)];
      vi.advanceTimersByTime(SECOND);
      one.happens('foundGap');
      vi.setSystemTime(Date.now() - 400 * SECOND);
      expect([other.sinceMs('foundGap'), other.sinceMs('countedAlone')]).toEqual([0, Number.POSITIVE_INFINITY]);
      vi.setSystemTime(Date.now() + 800 * SECOND);
      vi.advanceTimersByTime(SECOND);
      expect(other.sinceMs('foundGap')).toBe(SECOND);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('marks in a snapshot', () => {
  test('A snapshot restores what was read, and knows the own entries of its life that were ahead of it', async () => {
    const world = new World(MIB);
    world.see();
    const marks = new StreamMarks(world.memory.marks);
    marks.begin(11n);
    marks.claim(0, 40n);
    marks.claim(63, 41n);
    marks.own(63, 50n);
    marks.own(0, 39n);
    await save(world.memory);
    const again = load();
    expect([again.kind, again.marks.read(0), again.marks.read(63), again.marks.read(1)]).toEqual([
      'loaded',
      40n,
      41n,
      0n,
    ]);
    again.marks.begin(12n);
    expect([49n, 50n, 51n].map((id) => again.marks.contains(63, 11n, id))).toEqual([true, true, false]);
    expect(again.marks.contains(63, 12n, 49n)).toBe(false);
    expect(again.marks.contains(63, 0n, 1n)).toBe(false);
  });

  test('Lives are known for as long as they are ahead of what was read, over several restarts', async () => {
    let { memory, marks } = load();
    for (let life = 1n; life <= 3n; life++) {
      marks.begin(life);
      marks.own(7, 100n * life);
      await save(memory);
      ({ memory, marks } = load());
    }
    marks.begin(4n);
    expect([1n, 2n, 3n].map((life) => marks.contains(7, life, 100n * life))).toEqual([true, true, true]);
    marks.claim(7, 250n);
    await save(memory);
    const last = load().marks;
    expect([1n, 2n, 3n].map((life) => last.contains(7, life, 100n * life))).toEqual([false, false, true]);
  });

  test('A corrupt snapshot restores neither records nor marks', async () => {
    const world = new World(MIB);
    world.see();
    new StreamMarks(world.memory.marks).claim(5, 9n);
    await save(world.memory);
    const file = join(folder, SNAPSHOT_NAME);
    const bytes = readFileSync(file);
    const end = bytes.length - 1;
    bytes[end] = (bytes[end] ?? 0) ^ 1;
    writeFileSync(file, bytes);
    const { kind, marks } = load();
    expect([kind, marks.isEmpty]).toEqual(['set_aside', true]);
  });

  test('A snapshot of version 3, which has no marks, restores its records', async () => {
    const world = new World(MIB);
    for (let n = 0; n < 3; n++) world.see();
    new StreamMarks(world.memory.marks).claim(5, 9n);
    await save(world.memory);
    const file = join(folder, SNAPSHOT_NAME);
    const bytes = readFileSync(file);
    bytes.writeUInt32LE(3, 8);
    bytes.writeUInt32LE(crc32(bytes.subarray(0, 24)), 24);
    const marksAt = bytes.length - 12 - MARKS_BYTES - 12;
    writeFileSync(file, Buffer.concat([bytes.subarray(0, marksAt), bytes.subarray(-12)]));
    const { kind, memory, marks } = load();
    expect([kind, marks.isEmpty]).toEqual(['loaded', true]);
    expect(new World(0, memory).see().session.decisions1m).toBe(4);
  });
});
