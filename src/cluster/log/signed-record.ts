import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Reply } from '../store/link.ts';
import { replyList, replyText } from '../store/store-calls.ts';

/**
 * Records that a node shows in the store in plain text, so that a command without the master key can read them, together with a proof that
 * a node of the cluster wrote them: `<HMAC-SHA256, hex> <text>`. `context` names the place and whose record it is, so that one cannot be
 * moved to another place. A record says itself how old it is.
 */
export function signRecord(key: Uint8Array, context: string, text: string): string {
  return `${proofOf(key, context, text)} ${text}`;
}

/** Names the place of a node's record in a hash. */
export function recordPlace(redisKey: string, node: string): string {
  return `${redisKey}/${node}`;
}

const PROOF_CHARACTERS = 64;

/** Returns the text; null if no node of the cluster wrote it for this place. */
export function readSigned(key: Uint8Array, context: string, value: string): string | null {
  const text = textOfSigned(value);
  const given = Buffer.from(value.slice(0, PROOF_CHARACTERS));
  const right = Buffer.from(proofOf(key, context, text));
  return given.length === right.length && timingSafeEqual(given, right) ? text : null;
}

/** Returns the text without asking who wrote it: to be shown, never to be acted upon. */
export function textOfSigned(value: string): string {
  return value.slice(PROOF_CHARACTERS + 1);
}

export function proofOf(key: Uint8Array, context: string, text: string): string {
  return createHmac('sha256', key).update(`gatehouse record\n${context}\n`).update(text).digest('hex');
}

/** Reads the JSON objects of a hash of node ids. `read` returns the text of a value; null leaves it out. */
export function recordsOf(
  reply: Reply,
  read: (node: string, value: string) => string | null,
): readonly (readonly [node: string, object])[] {
  const all = replyList(reply);
  const records: (readonly [string, object])[] = [];
  for (let at = 0; at + 1 < all.length; at += 2) {
    const node = replyText(all[at]);
    const record = parse(read(node, replyText(all[at + 1])));
    if (record !== null) records.push([node, record]);
  }
  return records;
}

function parse(text: string | null): object | null {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
