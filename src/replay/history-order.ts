import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { HistoryEventRow } from './history-events.ts';

/** Choice: events of a sorted piece, some 40 MB. */
const PIECE_EVENTS = 50_000;

interface Piece {
  readonly lines: AsyncIterator<string>;
  next: HistoryEventRow | null;
}

/**
 * Yields events in the order of their times, however they are given; equal times keep their order. Sorts pieces of the file into a
 * folder for temporary files, readable by this user only, and merges them.
 */
export async function* inOrder(events: AsyncIterable<HistoryEventRow>): AsyncGenerator<HistoryEventRow> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-evaluate-'));
  try {
    const files: string[] = [];
    let piece: HistoryEventRow[] = [];
    const write = async (): Promise<void> => {
      piece.sort((a, b) => a.atMs - b.atMs);
      const file = join(folder, String(files.length));
      files.push(file);
      const lines = piece.map((event) => `${JSON.stringify(event)}\n`);
      piece = [];
      await writeFile(file, lines, { mode: 0o600 });
    };
    for await (const event of events) {
      piece.push(event);
      if (piece.length >= PIECE_EVENTS) await write();
    }
    if (piece.length > 0) await write();
    yield* merge(files);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function* merge(files: readonly string[]): AsyncGenerator<HistoryEventRow> {
  const pieces: Piece[] = [];
  for (const file of files) {
    const lines = createInterface({ input: createReadStream(file) })[Symbol.asyncIterator]();
    pieces.push({ lines, next: await readNext(lines) });
  }
  for (;;) {
    let first: Piece | null = null;
    for (const piece of pieces)
      if (piece.next !== null && (first === null || piece.next.atMs < (first.next?.atMs ?? Infinity))) first = piece;
    if (first === null || first.next === null) return;
    yield first.next;
    first.next = await readNext(first.lines);
  }
}

async function readNext(lines: AsyncIterator<string>): Promise<HistoryEventRow | null> {
  const read = await lines.next();
  return read.done === true ? null : (JSON.parse(read.value) as HistoryEventRow);
}
