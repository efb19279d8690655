import type { CollectBounds } from '../../../work/extraction-state.ts';
import type { RetentionBounds } from './retention.ts';
import type { StepRoomBounds } from './step-room.ts';

export interface ExtractionBounds extends CollectBounds, RetentionBounds, StepRoomBounds {
  /** How long an ended job is kept, with its records. */
  readonly keepMs: number;
  readonly scanRowsMax: number;
}

export const EXTRACTION_BOUNDS: ExtractionBounds = {
  /** Source: contract, 11.2. */
  recordsMax: 1_000_000,
  /** Source: contract, 11.5. */
  syncRecordsMax: 1_000,
  /** Choice: 1,000,000 records of 2 KiB; larger results are seldom needed completely. */
  recordBytesMax: 2 * 2 ** 30,
  /** Choice: a week is enough time to fetch the results. */
  keepMs: 7 * 86_400_000,
  /** Choice: some 110,000 waiting pages, or a crawl of 1,000,000 whose lists are read as their pages are needed. */
  stepBytesPerJobMax: 60 * 2 ** 20,
  stepBytesPerCustomerMax: 256 * 2 ** 20,
  stepBytesMax: 2 ** 30,
  /** Choice: some 7,000 waiting pages; 800 MiB for as many jobs as run at a time. */
  stepBytesPerJobMin: 4 * 2 ** 20,
  /** Choice: 60 jobs an hour for a week. */
  jobsPerCustomerMax: 10_000,
  bytesPerCustomerMax: 8 * 2 ** 30,
  bytesMax: 32 * 2 ** 30,
  /** Choice: rows that one call of `page` scans, so that a rare filter never blocks the main thread for long. */
  scanRowsMax: 1_000,
};
