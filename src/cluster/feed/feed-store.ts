import type { Argument, Link, Reply } from '../store/link.ts';
import {
  callStore,
  replyList,
  replyText,
  scriptCommand,
  STORE_DEADLINE_MS,
  type StoreResult,
  streamRows,
} from '../store/store-calls.ts';
import type { ChainPosition, StreamEntry } from './change-chain.ts';
import { CHANGES_KEY, HEAD_KEY } from './feed-keys.ts';
import { EXTEND, FOUND, READ_STREAM, TRIM } from './feed-scripts.ts';
import { proofOf } from '../log/signed-record.ts';

/** The stream of changes in the cluster's store, and its head. */

/** Choice: a reader checks at least twice a second whether the stream is still the one that it reads. */
const BLOCK_MS = 500;
/** Choice: a read has at most some 2 MB. */
const ENTRIES_PER_READ = 100;
/** The largest second half of an id. */
const PART_MAX = '18446744073709551615';

/** State of the stream when it was founded: `number` and `last` are those before its first entry. */
export interface Head extends ChainPosition {
  readonly cluster: string;
  readonly check: string;
  readonly format: string;
  /** Shows that a node of the cluster wrote it. */
  readonly proof: string;
}

/** An entry with what the store adds to it, which is not authenticated. */
export interface StoredEntry extends StreamEntry {
  /** Time at which it was appended, Unix ms, on the store's clock. */
  readonly atMs: number;
  readonly bytes: number;
}

/** The stream as the store has it, not authenticated. */
export interface StoredStream {
  /** Changes with everything else here. */
  readonly mark: string;
  /** True if there is anything in the place of the head. */
  readonly hasHead: boolean;
  readonly head: Head | null;
  /** `stream`, `none`, or another type of the store. */
  readonly kind: string;
  /** Id of the entry that was last added. */
  readonly lastId: string;
  /** Id of the newest entry; empty without any. */
  readonly topId: string;
  readonly top: StoredEntry | null;
  /** First part of the change with the requested number. */
  readonly own: StoredEntry | null;
}

/** Reads the state of the stream. `number`: the change of which the first part is returned too. */
export function readStream(link: Link, number: number): Promise<StoreResult<StoredStream>> {
  return callStore(link, scriptCommand(READ_STREAM, KEYS, [String(number)]), storedStreamOf);
}

/** Returns the proof of a head. */
export function headProof(key: Uint8Array, { cluster, format, term, number, last }: Omit<Head, 'proof'>): string {
  return proofOf(key, HEAD_KEY, JSON.stringify([format, cluster, term, number, last]));
}

/** Replaces the stream by these entries, unless it is no longer the one that `mark` identifies. */
export function found(
  link: Link,
  mark: string,
  { cluster, check, format, term, number, last, proof }: Head,
  entries: readonly StreamEntry[] = [],
): Promise<StoreResult<boolean>> {
  const head = [mark, cluster, check, format, String(term), String(number), last, proof];
  return callStore(
    link,
    scriptCommand(FOUND, KEYS, [...head, ...argumentsOf(entries)]),
    (reply) => Number(reply) === 1,
  );
}

export interface Extended {
  readonly status: 'ok' | 'moved' | 'absent';
  /** With `moved`: what the stream has after the given change. */
  readonly after: readonly StoredEntry[];
}

/** Appends entries that follow the change `number` with the token `last`, if that is the newest one. */
export function extend(
  link: Link,
  cluster: string,
  { number, last }: Pick<ChainPosition, 'number' | 'last'>,
  entries: readonly StreamEntry[],
): Promise<StoreResult<Extended>> {
  return callStore(
    link,
    scriptCommand(EXTEND, KEYS, [cluster, String(number), last, ...argumentsOf(entries)]),
    (reply) => {
      const [status, after] = replyList(reply);
      return { status: replyText(status) as Extended['status'], after: replyList(after).map(entryOf) };
    },
  );
}

function argumentsOf(entries: readonly StreamEntry[]): readonly Argument[] {
  const args: Argument[] = [];
  for (const { number, part, token, previous, parts, data } of entries)
    args.push(String(number), String(part), token, previous, String(parts), data);
  return args;
}

export function trimFeed(link: Link, cluster: string, before: number): Promise<StoreResult<number>> {
  return callStore(link, scriptCommand(TRIM, KEYS, [cluster, String(before)]), Number);
}

/** Position after which a read begins: a part, or a whole change with `part` null. */
export interface After {
  readonly number: number;
  readonly part: number | null;
}

/** Waits until there are parts after one, for half a second at most. */
export function waitAfter(waiting: Link, after: After): Promise<StoreResult<readonly StoredEntry[]>> {
  const head = ['XREAD', 'COUNT', String(ENTRIES_PER_READ), 'BLOCK', String(BLOCK_MS), 'STREAMS', CHANGES_KEY];
  const command = { key: CHANGES_KEY, args: [...head, idOf(after)] };
  return callStore(waiting, command, (reply) => streamRows(reply).map(entryOf), BLOCK_MS + 2 * STORE_DEADLINE_MS);
}

/** The same without waiting. */
export function readAfter(link: Link, after: After): Promise<StoreResult<readonly StoredEntry[]>> {
  const args = ['XRANGE', CHANGES_KEY, `(${idOf(after)}`, '+', 'COUNT', String(ENTRIES_PER_READ)];
  return callStore(link, { key: CHANGES_KEY, args }, (reply) => replyList(reply).map(entryOf));
}

function idOf({ number, part }: After): string {
  return `${number}-${part ?? PART_MAX}`;
}

/** Returns the first entry from a number on; null at the end. */
export function firstFrom(link: Link, number: number): Promise<StoreResult<StoredEntry | null>> {
  const args = ['XRANGE', CHANGES_KEY, `${number}-0`, '+', 'COUNT', '1'];
  return callStore(link, { key: CHANGES_KEY, args }, (reply) => replyList(reply).map(entryOf)[0] ?? null);
}

const KEYS = [HEAD_KEY, CHANGES_KEY];

function storedStreamOf(reply: Reply): StoredStream {
  const [mark, headType, head, kind, lastId, top, own] = replyList(reply);
  return {
    mark: replyText(mark),
    hasHead: replyText(headType) !== 'none',
    head: headOf(replyList(head)),
    kind: replyText(kind),
    lastId: replyText(lastId),
    topId: replyText(replyList(top)[0]),
    top: Array.isArray(top) ? entryOf(top as Reply) : null,
    own: Array.isArray(own) ? entryOf(own as Reply) : null,
  };
}

function headOf([id, check, format, term, number, last, proof]: readonly Reply[]): Head | null {
  if (id === null || id === undefined) return null;
  return {
    cluster: replyText(id),
    check: replyText(check),
    format: replyText(format),
    term: Number(replyText(term)),
    number: Number(replyText(number)),
    last: replyText(last),
    proof: replyText(proof),
  };
}

function entryOf(reply: Reply): StoredEntry {
  const [id, fields] = replyList(reply);
  const [number = '', part = ''] = replyText(id).split('-');
  const values = new Map<string, Reply>();
  const all = replyList(fields);
  for (let at = 0; at + 1 < all.length; at += 2) values.set(replyText(all[at]), all[at + 1] ?? null);
  const data = values.get('d');
  return {
    number: Number(number),
    part: Number(part),
    token: replyText(values.get('t')),
    previous: replyText(values.get('p')),
    atMs: Number(replyText(values.get('m'))),
    bytes: Number(replyText(values.get('b'))),
    parts: Number(replyText(values.get('c'))),
    data: Buffer.isBuffer(data) ? data : Buffer.alloc(0),
  };
}
