/** What the decision log holds. */
export interface DecisionLogStats {
  readonly rows: number;
  readonly bytes: number;
  readonly blocks: number;
  /** Memory of blocks that are not written yet or still growing. */
  readonly pendingBytes: number;
  /** Decisions lost since the start: the disk refused them, or their record was empty or malformed. */
  readonly dropped: number;
  /** Blocks that could not be read. */
  readonly damagedBlocks: number;
}
