import {
  DECISION_BLOCK_BYTES_MIN,
  DECISION_BLOCK_ROWS_MAX,
  DECISION_DISK_FREE_BYTES_MIN,
  DECISION_LOG_BLOCKS_MAX,
  DECISION_LOG_BYTES_MAX,
  DECISION_OPEN_BLOCKS_MAX,
  DECISION_PENDING_BYTES_MAX,
  DECISION_SCAN_ROWS_MAX,
  DECISIONS_KEPT_MAX,
} from '../../kernel/history-limits.ts';

/** Limits of the log; tests use smaller ones. */
export interface DecisionLogBounds {
  readonly rowsPerCustomerMax: number;
  readonly blockRowsMax: number;
  /** A block of this size is sealed when it is flushed. */
  readonly blockBytesMin: number;
  readonly openBlocksMax: number;
  readonly pendingBytesMax: number;
  readonly bytesMax: number;
  readonly blocksMax: number;
  readonly scanRowsMax: number;
  readonly freeBytesMin: number;
}

export const DECISION_LOG_BOUNDS: DecisionLogBounds = {
  rowsPerCustomerMax: DECISIONS_KEPT_MAX,
  blockRowsMax: DECISION_BLOCK_ROWS_MAX,
  blockBytesMin: DECISION_BLOCK_BYTES_MIN,
  openBlocksMax: DECISION_OPEN_BLOCKS_MAX,
  pendingBytesMax: DECISION_PENDING_BYTES_MAX,
  bytesMax: DECISION_LOG_BYTES_MAX,
  blocksMax: DECISION_LOG_BLOCKS_MAX,
  scanRowsMax: DECISION_SCAN_ROWS_MAX,
  freeBytesMin: DECISION_DISK_FREE_BYTES_MIN,
};
