import { type ChainPosition, openEntry, type StreamEntry } from './change-chain.ts';
import { type Head, headProof, type StoredStream } from './feed-store.ts';

/** Knowledge of a node by which it judges the content of the store. */
export interface Knowledge {
  readonly key: Uint8Array;
  readonly cluster: string;
  readonly format: string;
  /** The last change that it has read, applied or not. */
  readonly own: ChainPosition;
  /** The changes up to that one that it still has, in order; may be empty. */
  readonly tail: readonly StreamEntry[];
  /** True if a node of this other cluster is alive. */
  readonly isAlive: (cluster: string) => boolean;
}

export type StreamState =
  /** `newest`: number of the newest change. `isPart`: whether this node's changes are known to be part of the stream. */
  | { readonly kind: 'sound'; readonly newest: number; readonly term: number; readonly isPart: boolean }
  /** The store has lost the newest changes: these follow what it has. */
  | {
      readonly kind: 'shorter';
      readonly after: Pick<ChainPosition, 'number' | 'last'>;
      readonly missing: readonly StreamEntry[];
    }
  /** It is not a stream that a node of this cluster has written, or it cannot be appended to. `term`: the highest that it proves. */
  | { readonly kind: 'damaged'; readonly detail: string; readonly term: number }
  /** It is one of this cluster, with changes that do not follow those of this node. */
  | { readonly kind: 'astray'; readonly detail: string; readonly term: number }
  | { readonly kind: 'newer'; readonly detail: string }
  | { readonly kind: 'foreign'; readonly detail: string };

export function isProved(key: Uint8Array, head: Head): boolean {
  return head.proof === headProof(key, head);
}

/** Judges the stream by what is authenticated in it and by what the node has. */
export function judgeStream(stored: StoredStream, known: Knowledge): StreamState {
  const { key, cluster, format, own } = known;
  const head = stored.head !== null && isProved(key, stored.head) ? stored.head : null;
  const damaged = (detail: string): StreamState => ({ kind: 'damaged', detail, term: head?.term ?? 0 });
  if (head === null)
    return damaged(stored.hasHead ? 'no node of this cluster wrote its head' : 'the store has lost it');
  if (Number(head.format) > Number(format)) return { kind: 'newer', detail: `it has format ${head.format}` };
  if (head.cluster !== cluster) {
    if (known.isAlive(head.cluster))
      return { kind: 'foreign', detail: `the store belongs to another cluster now (${head.cluster})` };
    return { kind: 'damaged', detail: 'its head is that of another cluster', term: 0 };
  }
  if (head.format !== format || head.term < own.term) return damaged('its head is an old one');
  const newest = newestOf(stored, head, known);
  return typeof newest === 'string' ? damaged(newest) : compare(newest, head, stored, known);
}

/** Returns the number and token of the newest change; a text that says what is wrong if there is no authenticated one. */
function newestOf(
  stored: StoredStream,
  head: Head,
  { key, cluster }: Knowledge,
): Pick<ChainPosition, 'number' | 'last'> | string {
  if (stored.kind === 'none') return head;
  if (stored.kind !== 'stream') return `a ${stored.kind} is in its place`;
  if (stored.top === null) return 'all of its entries are gone';
  if (stored.topId !== stored.lastId) return 'its newest entries are gone';
  const top = openEntry(key, cluster, stored.top);
  if (top === null) return 'no node of this cluster wrote its newest entry';
  if (top.part + 1 !== top.parts) return 'parts of its newest change are gone';
  return { number: top.number, last: top.token };
}

function compare(
  newest: Pick<ChainPosition, 'number' | 'last'>,
  head: Head,
  stored: StoredStream,
  { key, cluster, own, tail }: Knowledge,
): StreamState {
  const astray = (detail: string): StreamState => ({ kind: 'astray', detail, term: head.term });
  if (newest.number === own.number) {
    if (newest.last === own.last) return { kind: 'sound', newest: newest.number, term: head.term, isPart: true };
    return astray('the store has other changes than this node');
  }
  if (newest.number > own.number) {
    const isEmpty = stored.kind === 'none';
    if (isEmpty) return astray('the changes after its position are no longer in the stream');
    const same = stored.own === null ? null : openEntry(key, cluster, stored.own);
    if (same !== null && same.token !== own.last) return astray('the store has other changes than this node');
    const isPart = same !== null || (head.number === own.number && head.last === own.last);
    return { kind: 'sound', newest: newest.number, term: head.term, isPart };
  }
  const next = tail.findIndex(({ number }) => number === newest.number + 1);
  const missing = next < 0 ? [] : tail.slice(next);
  if (missing[0]?.previous === newest.last) return { kind: 'shorter', after: newest, missing };
  if (head.term > own.term) return astray('the store has other changes than this node');
  return { kind: 'damaged', detail: 'the store has lost its newest changes', term: head.term };
}
