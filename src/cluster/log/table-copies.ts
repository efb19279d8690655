import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { decrypt, encrypt } from '../../kernel/encryption.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { ChangeTable } from '../../state/tables/change-tables.ts';
import { committed, fault, type StoreFault, writtenInSteps } from '../../state/tables/durable.ts';
import type { Environment } from '../../state/tables/environment.ts';
import type { Link, Reply } from '../store/link.ts';
import { RepeatedCall } from '../store/repeated-call.ts';
import {
  callStore,
  freeType,
  readStoreTime,
  replyList,
  STORE_DEADLINE_MS,
  timeCommand,
  timeOf,
} from '../store/store-calls.ts';
import { readSigned, recordPlace, recordsOf, signRecord } from './signed-record.ts';

/** Names of the keys of one kind of copies, all in one slot. */
export interface CopyKeys {
  /** Hash: node id → JSON, its request. */
  readonly wanted: string;
  /** The node that sends; expires. */
  sender(id: string): string;
  /** List of chunks; expires. */
  chunks(id: string): string;
}

export type CopiedTable = Pick<ChangeTable, 'database' | 'owns'> & { readonly name: string };

/** A request for a copy. */
export interface WantedCopy {
  readonly id: string;
  /** On the store's clock, Unix ms. */
  readonly atMs: number;
  /** Version of the tables that the node reads. */
  readonly tables: number;
  /** The position that the copy must have reached. */
  readonly atLeast: unknown;
}

export interface TableCopyParts {
  readonly link: Link;
  /** Encrypts the chunks and signs the requests. */
  readonly key: Uint8Array;
  readonly node: string;
  readonly keys: CopyKeys;
  readonly root: Environment;
  readonly tables: () => readonly CopiedTable[];
  /** Version of the tables. Rows are copied as they are, so a node sends them only to nodes of the same version. */
  readonly version: number;
  /** Returns the position that the rows of the transaction have, in fields; null if it is before `atLeast`. */
  readonly positionIn: (transaction: CopyTransaction, atLeast: unknown) => readonly unknown[] | null;
  /** Returns whether requests are served now; always by default. */
  readonly canServe?: (() => boolean) | undefined;
  readonly pollMs?: number | undefined;
  /** May wait before each chunk is read. */
  readonly beforeChunk?: () => Promise<void>;
}

/** Choice: how soon the request of a node is noticed. */
const REQUESTS_POLL_MS = 500;
/** Choice: a request that no node has served within this time has expired. */
const WANTED_MS = 60_000;
/** Choice: rows of one chunk; a row has some 100 bytes, at most some 10 KB. */
const CHUNK_BYTES = 512 * 1024;
/** Choice: unread chunks that may lie in the store: 4 MB. */
const CHUNKS_WAITING_MAX = 8;
/** Choice: a sender or a receiver that is silent for this long is dead. */
const SILENT_MS = 5_000;
const POLL_MS = 10;
/** Choice: milliseconds between two requests of a node that waits for the first chunk. */
const ASK_MS = 100;
/** Name of the first chunk, which says what the copy contains, and of the last one, which is empty. */
const BEGIN = 'begin';
const END = 'end';
const ROWS_PER_CLEAR = 10_000;

export type CopyTransaction = ReturnType<Environment['useReadTransaction']>;

export type ReceivedCopy =
  /** All rows are written. `position`: that of the rows, in fields. */
  | { readonly kind: 'ok'; readonly position: readonly unknown[] }
  /** No node sent anything. */
  | { readonly kind: 'none' }
  /** The sender ended, or this node stops. */
  | { readonly kind: 'interrupted' }
  | StoreFault;

/**
 * Copies of the tables that a log changes, from a node that has applied it to one that has not and cannot read it any more. They go through
 * the store in encrypted chunks. The receiver posts a request with its own id; one of the others sends the copy, which it reads in one
 * snapshot of LMDB together with its position.
 */
export class TableCopies {
  readonly #parts: TableCopyParts;
  readonly #serving: RepeatedCall<void>;
  #isReceiving = false;

  constructor(parts: TableCopyParts) {
    this.#parts = parts;
    this.#serving = new RepeatedCall(parts.pollMs ?? REQUESTS_POLL_MS, () => this.#serve());
  }

  get isClosed(): boolean {
    return this.#serving.isClosed;
  }

  /** Begins to send copies to the other nodes that request one. */
  start(): void {
    this.#serving.start();
  }

  /** Ends what is being copied, and resolves when nothing is sent any more. */
  close(): Promise<void> {
    return this.#serving.close();
  }

  async #serve(): Promise<void> {
    const { link, key, keys, canServe = () => true } = this.#parts;
    const { wanted } = keys;
    const commands = [{ key: wanted, args: ['HGETALL', wanted] }, timeCommand(wanted)];
    const [all, time] = await link.send(commands, STORE_DEADLINE_MS);
    await freeType(link, wanted, all);
    if (all?.kind !== 'reply' || time?.kind !== 'reply') return;
    const nowMs = timeOf(time.reply);
    for (const [node, one] of wantedCopiesOf(key, wanted, all.reply)) {
      if (this.#isReceiving || this.isClosed || !canServe()) return;
      if (node !== this.#parts.node && Math.abs(nowMs - one.atMs) < WANTED_MS) await this.send(one);
    }
  }

  /**
   * Sends a copy, unless another node does, its tables have another version, or these are earlier. Returns whether it was sent
   * completely.
   */
  async send({ id, tables, atLeast }: WantedCopy): Promise<boolean> {
    const { root, version, positionIn } = this.#parts;
    if (tables !== version) return false;
    root.resetReadTxn();
    const transaction = root.useReadTransaction();
    try {
      const position = positionIn(transaction, atLeast);
      return position !== null && (await this.#claim(id)) && (await this.#sendTables(id, transaction, position));
    } finally {
      transaction.done();
    }
  }

  /** Returns whether this node is the one that sends the copy. */
  async #claim(id: string): Promise<boolean> {
    const { link, keys, node } = this.#parts;
    const key = keys.sender(id);
    const mine = ['SET', key, node, 'NX', 'PX', String(SILENT_MS * 12)];
    const claimed = await callStore(link, { key, args: mine }, (reply) => reply !== null);
    return claimed.kind === 'ok' && claimed.value;
  }

  /** Writes the position, and then all rows as the transaction sees them. Returns false if the receiver is gone, or this node stops. */
  async #sendTables(id: string, transaction: CopyTransaction, position: readonly unknown[]): Promise<boolean> {
    if (!(await this.#push(id, 0, BEGIN, position))) return false;
    let index = 1;
    for (const table of this.#parts.tables()) {
      for (let after: Buffer | null = null; ;) {
        await this.#parts.beforeChunk?.();
        if (this.isClosed) return false;
        const { rows, last: read } = readChunk(table, transaction, after);
        if (rows.length > 0 && !(await this.#push(id, index++, table.name, rows))) return false;
        if (read === null) break;
        after = read;
      }
    }
    return this.#push(id, index, END, []);
  }

  /**
   * Requests a copy from the other nodes under a new id, and replaces the rows of the tables by it. `onBegin` is called before the first
   * row changes, with the position of the copy; after a fault nothing changes. Chunks are encrypted for this request: whatever else lies
   * in their place, such as those of an earlier copy, is passed over.
   */
  async receive(
    atLeast: unknown,
    onBegin: (position: readonly unknown[]) => Promise<StoreFault | null>,
  ): Promise<ReceivedCopy> {
    const id = randomUUID();
    this.#isReceiving = true;
    try {
      return await this.#receive(id, atLeast, onBegin);
    } finally {
      this.#isReceiving = false;
      const { link, keys, node } = this.#parts;
      await callStore(link, { key: keys.wanted, args: ['HDEL', keys.wanted, node] }, Number);
      await callStore(link, { key: keys.wanted, args: ['DEL', keys.chunks(id), keys.sender(id)] }, Number);
    }
  }

  async #receive(
    id: string,
    atLeast: unknown,
    onBegin: (position: readonly unknown[]) => Promise<StoreFault | null>,
  ): Promise<ReceivedCopy> {
    const { key, keys, root, version } = this.#parts;
    const tables = this.#parts.tables();
    let position: readonly unknown[] = [];
    let lastChunkMs = performance.now();
    for (let index = 0; !this.isClosed;) {
      if (index === 0) await this.#postRequest({ tables: version, atLeast, id });
      const sealed = await this.#pop(id);
      const plain = sealed === null ? null : decrypt(key, sealed, chunkContext(keys, id, index));
      if (plain === null) {
        const silentMs = performance.now() - lastChunkMs;
        if (silentMs > (index === 0 ? SILENT_MS : SILENT_MS * 2)) return { kind: index === 0 ? 'none' : 'interrupted' };
        await sleep(index === 0 ? ASK_MS : POLL_MS);
        continue;
      }
      lastChunkMs = performance.now();
      const [, name, content] = unpack(plain);
      const rows: readonly unknown[] = Array.isArray(content) ? content : [];
      if (index++ === 0) {
        position = rows;
        const failed = (await onBegin(position)) ?? (await clearTables(root, tables));
        if (failed !== null) return failed;
        continue;
      }
      if (name === END) return { kind: 'ok', position };
      const table = tables.find((one) => one.name === name);
      const failed = await writeChunk(root, table, rows);
      if (failed !== null) return failed;
    }
    return { kind: 'interrupted' };
  }

  async #postRequest(request: Omit<WantedCopy, 'atMs'>): Promise<void> {
    const { link, key, keys, node } = this.#parts;
    // Senders compare the time with theirs, and the clock of a node may be minutes off.
    const time = await readStoreTime(link, keys.wanted);
    if (time.kind === 'away') return;
    const text = JSON.stringify({ ...request, atMs: Math.round(time.value) });
    const record = signRecord(key, recordPlace(keys.wanted, node), text);
    await callStore(link, { key: keys.wanted, args: ['HSET', keys.wanted, node, record] }, Number);
  }

  /** Waits while the receiver has enough to read. Returns false if it reads nothing any more, or this node stops. */
  async #push(id: string, index: number, name: string, rows: readonly unknown[]): Promise<boolean> {
    const { link, key: secret, keys } = this.#parts;
    const sealed = encrypt(secret, pack([index, name, rows]), chunkContext(keys, id, index));
    const key = keys.chunks(id);
    const deadline = performance.now() + SILENT_MS * 2;
    for (;;) {
      const length = await callStore(link, { key, args: ['LLEN', key] }, Number);
      if (length.kind === 'ok' && length.value < CHUNKS_WAITING_MAX) break;
      if (performance.now() > deadline || this.isClosed) return false;
      await sleep(POLL_MS);
    }
    const pushed = await callStore(link, { key, args: ['RPUSH', key, sealed] }, Number, SILENT_MS);
    if (pushed.kind === 'away') return false;
    return (await callStore(link, { key, args: ['PEXPIRE', key, String(SILENT_MS * 12)] }, Number)).kind === 'ok';
  }

  async #pop(id: string): Promise<Buffer | null> {
    const key = this.#parts.keys.chunks(id);
    const pop = { key, args: ['LPOP', key, '1'] };
    const popped = await callStore(this.#parts.link, pop, (reply) => replyList(reply)[0] ?? null, SILENT_MS);
    return popped.kind === 'ok' && Buffer.isBuffer(popped.value) ? popped.value : null;
  }
}

/** Reads the requests of all nodes from the reply to `HGETALL`. Those that no node of the cluster has signed are left out. */
function wantedCopiesOf(
  key: Uint8Array,
  wanted: string,
  reply: Reply,
): readonly (readonly [node: string, wanted: WantedCopy])[] {
  return recordsOf(reply, (node, value) => readSigned(key, recordPlace(wanted, node), value)).flatMap(
    ([node, record]) => ('id' in record && 'atMs' in record ? [[node, record as WantedCopy] as const] : []),
  );
}

/** Names a chunk, so that it cannot be decrypted in the place of another. */
function chunkContext(keys: CopyKeys, id: string, index: number): string {
  return `${keys.chunks(id)}/${index}`;
}

/** `last` is null at the end of the table. */
function readChunk(
  { database, owns }: CopiedTable,
  transaction: CopyTransaction,
  after: Buffer | null,
): { readonly rows: readonly Buffer[]; readonly last: Buffer | null } {
  const rows: Buffer[] = [];
  let bytes = 0;
  const from = after === null ? {} : { start: after, exclusiveStart: true };
  for (const { key, value } of database.getRange({ ...from, transaction })) {
    const copied = Buffer.from(key);
    if (owns(copied)) rows.push(copied, Buffer.from(value));
    bytes += key.length + value.length;
    if (bytes >= CHUNK_BYTES) return { rows, last: copied };
  }
  return { rows, last: null };
}

/** Writes the rows of a chunk: key, value, … Returns the fault, if there is one. */
async function writeChunk(
  root: Environment,
  table: CopiedTable | undefined,
  rows: readonly unknown[],
): Promise<StoreFault | null> {
  if (table === undefined) return fault('cluster_refused', 'a snapshot has a table that this build does not know');
  const put = async (): Promise<void> => {
    await root.batch(() => {
      for (let at = 0; at + 1 < rows.length; at += 2) {
        // If the write fails, every put rejects with the same error as the batch.
        table.database.put(rows[at] as Buffer, rows[at + 1] as Buffer).catch(() => {});
      }
    });
  };
  const written = await writtenInSteps(root, put).visible;
  return written.kind === 'fault' ? written : null;
}

/** Removes all rows that belong to the tables. */
async function clearTables(root: Environment, tables: readonly CopiedTable[]): Promise<StoreFault | null> {
  for (const { database, owns } of tables) {
    let after: Buffer | null = null;
    do {
      const from: { start?: Buffer; exclusiveStart?: boolean } =
        after === null ? {} : { start: after, exclusiveStart: true };
      const keys = [...database.getKeys({ ...from, limit: ROWS_PER_CLEAR })].map((key) => Buffer.from(key));
      const removed = await committed(root, () => {
        for (const key of keys) if (owns(key)) void database.remove(key);
      });
      if (removed.kind === 'fault') return removed;
      after = keys.length < ROWS_PER_CLEAR ? null : (keys.at(-1) ?? null);
    } while (after !== null);
  }
  return null;
}
