import type { Argument, Command, Link, Reply, Sent } from './link.ts';

/** Single calls of the store, for what is not on the path of a decision. */

/** Choice: a commit may wait longer than a decision; a store that is slower than this is away. */
export const STORE_DEADLINE_MS = 500;

export interface Away {
  readonly kind: 'away';
  readonly what: 'refused' | 'unknown' | 'down';
  readonly detail: string;
}

export type StoreResult<T> = { readonly kind: 'ok'; readonly value: T } | Away;

export async function callStore<T>(
  link: Link,
  command: Command,
  read: (reply: Reply) => T,
  deadlineMs = STORE_DEADLINE_MS,
): Promise<StoreResult<T>> {
  const [sent] = await link.send([command], deadlineMs);
  if (sent === undefined) return { kind: 'away', what: 'down', detail: 'nothing was sent' };
  if (sent.kind === 'fault') return { kind: 'away', what: sent.what, detail: sent.detail };
  return { kind: 'ok', value: read(sent.reply) };
}

/** The command that runs a script, whose keys must be in one slot. */
export function scriptCommand(script: string, keys: readonly string[], args: readonly Argument[]): Command {
  return { key: keys[0] ?? '', args: ['EVAL', script, String(keys.length), ...keys, ...args] };
}

/** The command for the clock of the primary that has `key`, which the nodes share. `timeOf` reads its reply. */
export function timeCommand(key: string): Command {
  return scriptCommand("return redis.call('TIME')", [key], []);
}

/** Reads that clock alone. */
export function readStoreTime(link: Link, key: string): Promise<StoreResult<number>> {
  return callStore(link, timeCommand(key), timeOf);
}

/** Unix ms. */
export function timeOf(reply: Reply): number {
  const [seconds, microseconds] = replyList(reply);
  return Number(replyText(seconds)) * 1000 + Number(replyText(microseconds)) / 1000;
}

/** Removes a key that another client has overwritten with a value of another type. `sent`: the result of a command with it. */
export async function freeType(link: Link, key: string, sent: Sent | undefined): Promise<void> {
  if (sent?.kind === 'fault' && sent.detail.includes('WRONGTYPE'))
    await link.send([{ key, args: ['DEL', key] }], STORE_DEADLINE_MS);
}

export function replyList(reply: Reply | undefined): readonly Reply[] {
  return Array.isArray(reply) ? (reply as readonly Reply[]) : [];
}

export function replyText(reply: Reply | undefined): string {
  return Buffer.isBuffer(reply) ? reply.toString() : String(reply ?? '');
}

/** Returns the rows of the only stream of a reply to `XREAD`; empty if the wait ended without one. */
export function streamRows(reply: Reply): readonly Reply[] {
  const [stream] = replyList(reply);
  return replyList(replyList(stream)[1]);
}
