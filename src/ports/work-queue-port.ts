/**
 * Port: hands work from the code that decides to the code that does it, at least once and in order. On a single machine it is the journal
 * and its reader in another thread; in a cluster it is a stream with a consumer group.
 */

/** One piece of work. Sequences increase; some may be missing. */
export interface WorkEntry {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

export interface WorkPublisher {
  /**
   * Adds an entry to the write that makes its batch durable. Returns false if there is no room for it. If that write fails, the entry may
   * be missing, and its work must not have been promised to anyone.
   */
  publish(sequence: number, bytes: Uint8Array): boolean;
}

export interface WorkConsumer {
  /**
   * Returns the next entries after those received before: at least `bytesMax` bytes if that much is left, at most one write more. Returns
   * an empty list when everything that was announced has been received. Throws if the entries cannot be read at the moment.
   */
  receive(bytesMax: number): readonly WorkEntry[];
  /** Marks all entries up to this sequence as done: no consumer receives them again. */
  ack(upToSequence: number): void;
  /** Makes entries receivable again that were received and not acknowledged, for example by a consumer that died. */
  claim(): void;
}

export interface WorkQueue extends WorkPublisher, WorkConsumer {}
