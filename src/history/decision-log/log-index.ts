import type { CustomerNumber } from '../../kernel/brand.ts';
import { Block, BLOCK_EXTRA_BYTES, type Stream } from './block.ts';

/** The blocks of one customer. Sealed blocks are sorted by their newest row, so the oldest is the first. */
export class CustomerLog {
  readonly customer: CustomerNumber;
  rows = 0;
  bytes = 0;
  /** By stream. */
  readonly sealed: readonly [Block[], Block[]] = [[], []];
  readonly open: [Block | null, Block | null] = [null, null];

  constructor(customer: CustomerNumber) {
    this.customer = customer;
  }
}

/** Index of all blocks with their totals. Contains only customers that have rows. */
export class LogIndex {
  readonly customers = new Map<CustomerNumber, CustomerLog>();
  rows = 0;
  bytes = 0;
  blocks = 0;

  obtain(customer: CustomerNumber): CustomerLog {
    let log = this.customers.get(customer);
    if (log === undefined) {
      log = new CustomerLog(customer);
      this.customers.set(customer, log);
    }
    return log;
  }

  open(log: CustomerLog, stream: Stream, arrival: number): Block {
    const block = new Block(log.customer, stream, arrival);
    log.open[stream] = block;
    this.#count(log, 0, BLOCK_EXTRA_BYTES, 1);
    return block;
  }

  /** Counts a row added to an open block. */
  grew(log: CustomerLog, bytes: number): void {
    this.#count(log, 1, bytes, 0);
  }

  seal(log: CustomerLog, block: Block): void {
    block.seal();
    log.open[block.stream] = null;
    insert(log.sealed[block.stream], block);
  }

  /** Adds a stored block. The caller sorts after the last one. */
  load(block: Block): void {
    const log = this.obtain(block.customer);
    log.sealed[block.stream].push(block);
    this.#count(log, block.rows, block.end + BLOCK_EXTRA_BYTES, 1);
  }

  sort(): void {
    for (const { sealed } of this.customers.values()) for (const blocks of sealed) blocks.sort(compareBlocks);
  }

  /** Removes the customer's oldest block; blocks of ALLOW go first. Returns null if only growing blocks are left. */
  removeOldest(log: CustomerLog): Block | null {
    const block = log.sealed[0].shift() ?? log.sealed[1].shift() ?? null;
    if (block !== null) this.#forget(log, block);
    return block;
  }

  /** Removes blocks that ended at or before that time, oldest first, at most `blocksMax`. */
  removeEnded(log: CustomerLog, stream: Stream, untilMs: number, blocksMax: number): Block[] {
    const sealed = log.sealed[stream];
    let count = 0;
    while (count < blocksMax && (sealed[count]?.newestMs ?? Number.POSITIVE_INFINITY) <= untilMs) count++;
    const removed = sealed.splice(0, count);
    const open = log.open[stream];
    if (open !== null && open.newestMs <= untilMs && removed.length < blocksMax) {
      log.open[stream] = null;
      removed.push(open);
    }
    for (const block of removed) this.#forget(log, block);
    return removed;
  }

  /** Removes that block, whatever its position. */
  remove(block: Block): void {
    const log = this.customers.get(block.customer);
    const at = log?.sealed[block.stream].indexOf(block) ?? -1;
    if (log === undefined || at === -1) return;
    log.sealed[block.stream].splice(at, 1);
    this.#forget(log, block);
  }

  /** Returns the customer with the most bytes. Iterates over all customers. */
  largest(): CustomerLog | null {
    let largest: CustomerLog | null = null;
    for (const log of this.customers.values()) if (largest === null || log.bytes > largest.bytes) largest = log;
    return largest;
  }

  #forget(log: CustomerLog, block: Block): void {
    block.isGone = true;
    this.#count(log, -block.rows, -block.end - BLOCK_EXTRA_BYTES, -1);
    if (log.rows === 0 && log.open[0] === null && log.open[1] === null) this.customers.delete(log.customer);
  }

  #count(log: CustomerLog, rows: number, bytes: number, blocks: number): void {
    log.rows += rows;
    log.bytes += bytes;
    this.rows += rows;
    this.bytes += bytes;
    this.blocks += blocks;
  }
}

/** The newest block nearly always belongs at the end; only a clock that was set back changes that. */
function insert(blocks: Block[], block: Block): void {
  let at = blocks.length;
  for (let before = blocks[at - 1]; before !== undefined && compareBlocks(before, block) > 0; before = blocks[at - 1])
    at--;
  blocks.splice(at, 0, block);
}

function compareBlocks(a: Block, b: Block): number {
  return a.newestMs - b.newestMs || a.lastArrival - b.lastArrival;
}
