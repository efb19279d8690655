import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExtractStore } from '../../state/tables/extract-store.ts';
import type { JobLogLine } from './canonical-log-line.ts';
import type { Scheduler } from './scheduler.ts';

/** Choice: the same as for the log of decisions. With less free space, nothing is fetched. */
const DISK_FREE_BYTES_MIN = 512 * 1_048_576;
/** Choice: the records of ended jobs, at most 32 GiB, and as much as usual jobs need beside them. */
const SHARE_BYTES_MAX = 40 * 2 ** 30;
/** Choice: part of the share that ended jobs may take; the rest is for running ones. */
const ENDED_PART = 0.75;

export interface DiskRoom {
  readonly freeBytes: number;
  /** Size of the file of `extract/`. */
  readonly fileBytes: number;
}

export interface DiskShareParts {
  readonly store: {
    readonly extractions: Pick<ExtractStore['extractions'], 'boundEnded'>;
    usedBytes(): number;
  };
  readonly scheduler: Pick<Scheduler, 'isPaused' | 'endLargest' | 'pump'>;
  readonly log: JobLogLine;
  /** Resolves to null if the system does not tell. */
  measure(): Promise<DiskRoom | null>;
}

/** Returns how many bytes `extract/` may take: as much as it leaves free for everything else on the disk, up to a maximum. */
export function shareOf({ freeBytes, fileBytes }: DiskRoom): number {
  return Math.min(SHARE_BYTES_MAX, (freeBytes + fileBytes) / 2);
}

/**
 * Keeps extraction from filling the disk, which decisions and everything else of the store need as well. On a nearly full disk nothing is
 * fetched. While `extract/` exceeds its share, nothing is fetched either, the oldest ended jobs are removed, and the largest running job
 * ends, so that the next ones have room.
 */
export class DiskShare {
  readonly #parts: DiskShareParts;
  /** Bytes in use at the last look beyond the share; 0 within it. */
  #usedBefore = 0;

  constructor(parts: DiskShareParts) {
    this.#parts = parts;
  }

  async look(): Promise<void> {
    const { store, scheduler, log } = this.#parts;
    const room = await this.#parts.measure();
    if (room === null) return;
    const share = shareOf(room);
    store.extractions.boundEnded(share * ENDED_PART);
    const used = store.usedBytes();
    const isOver = used > share;
    const isFull = room.freeBytes < DISK_FREE_BYTES_MIN;
    // Removing rows takes some time: another job ends only if that did not help.
    if (isOver && used >= this.#usedBefore) {
      log.error(
        { bytes: used, bytes_max: share },
        'extraction has used up its share of the disk; ending the largest job',
      );
      scheduler.endLargest(`extraction may take ${Math.floor(share).toLocaleString('en-US')} bytes of the disk`);
    }
    this.#usedBefore = isOver ? used : 0;
    const isPaused = isFull || isOver;
    if (isPaused === scheduler.isPaused) return;
    scheduler.isPaused = isPaused;
    if (isFull) log.error({ bytes_min: DISK_FREE_BYTES_MIN }, 'the disk is nearly full; extraction is paused');
    if (!isPaused) log.info({}, 'the disk has room again; extraction continues');
    scheduler.pump();
  }
}

/** Measures the disk of a data directory. */
export async function diskRoomOf(dataDir: string): Promise<DiskRoom | null> {
  try {
    const [{ bavail, bsize }, { size }] = await Promise.all([
      statfs(dataDir),
      stat(join(dataDir, 'extract', 'data.mdb')),
    ]);
    return { freeBytes: bavail * bsize, fileBytes: size };
  } catch {
    return null;
  }
}
