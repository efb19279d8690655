import type { Link } from '../store/link.ts';
import { RESTART_KEY } from './feed-keys.ts';
import { ACQUIRE_TURN } from './feed-scripts.ts';
import { readSigned, signRecord } from '../log/signed-record.ts';
import { callStore, replyText, scriptCommand } from '../store/store-calls.ts';

/** Choice: longer than a start that takes a snapshot usually needs. A node that does not come back keeps the others waiting for so long. */
const TURN_MS = 60_000;

export interface TurnParts {
  readonly link: Link;
  readonly key: Buffer;
  readonly node: string;
}

/**
 * Acquires the turn to end this node for a snapshot: one node at a time. Only a record that a node of the cluster has signed keeps others
 * waiting; without it several may end at once, but never the one that is furthest. `nowMs` is on the store's clock.
 */
export async function acquireTurn({ link, key, node }: TurnParts, nowMs: number): Promise<boolean> {
  const present = await callStore(link, { key: RESTART_KEY, args: ['GET', RESTART_KEY] }, replyText);
  if (present.kind === 'away' && present.what !== 'refused') return false;
  // A key of another type is replaced.
  const value = present.kind === 'ok' ? present.value : '';
  const holder = readTurn(key, value);
  if (holder !== null && holder.node !== node && nowMs - holder.atMs < TURN_MS) return false;
  const record = signRecord(key, RESTART_KEY, JSON.stringify({ node, atMs: Math.round(nowMs) }));
  const command = scriptCommand(ACQUIRE_TURN, [RESTART_KEY], [value, record, String(TURN_MS)]);
  const acquired = await callStore(link, command, Number);
  return acquired.kind === 'ok' && acquired.value === 1;
}

/** Ends this node's turn, if it has it. */
export async function endTurn({ link, key, node }: TurnParts): Promise<void> {
  const present = await callStore(link, { key: RESTART_KEY, args: ['GET', RESTART_KEY] }, replyText);
  if (present.kind !== 'ok' || readTurn(key, present.value)?.node !== node) return;
  await callStore(link, { key: RESTART_KEY, args: ['DEL', RESTART_KEY] }, Number);
}

function readTurn(key: Buffer, value: string): { readonly node: string; readonly atMs: number } | null {
  const text = readSigned(key, RESTART_KEY, value);
  if (text === null) return null;
  const { node, atMs } = JSON.parse(text) as { node: unknown; atMs: unknown };
  return { node: String(node), atMs: Number(atMs) };
}
