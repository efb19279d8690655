/**
 * Names of all keys in the shared store. Each begins with a hash tag, `{gh:…}`, so that all keys of one tag are in one slot: a function may
 * use them together. Numbers and hashes only, never a value of a customer.
 */

/** Choice: enough to spread over many primaries; each shard is one stream. */
export const VELOCITY_SHARDS = 64;

const WINDOW_LETTERS = { decide: 'd', management: 'm', outcomes: 'o' } as const;

/** Counter of a key's requests in one rate window, an integer. */
export function windowKey(keyNumber: number, window: keyof typeof WINDOW_LETTERS, startSeconds: number): string {
  return `{gh:k${keyNumber}}:${WINDOW_LETTERS[window]}${startSeconds}`;
}

/** Counts of the visitors of a public key in one rate window: a hash of keyed hash → count. */
export function visitorsKey(keyNumber: number, window: keyof typeof WINDOW_LETTERS, startSeconds: number): string {
  return `{gh:k${keyNumber}}:v${WINDOW_LETTERS[window]}${startSeconds}`;
}

/** A used request id: an integer that holds its expiry and the node that admitted it. */
export function requestIdKey(keyNumber: number, hashLow: number, hashHigh: number): string {
  return `{gh:k${keyNumber}}:${hashLow.toString(36)}.${hashHigh.toString(36)}`;
}

export function velocityShard(customerNumber: number): number {
  return customerNumber % VELOCITY_SHARDS;
}

/** Stream of the events of a velocity shard. */
export function velocityKey(shard: number): string {
  return `{gh:v${shard}}:events`;
}

/** The tag of everything that all nodes follow together. */
const FEED = '{gh:feed}';
/** Stream of the changes of the state, in the order in which all nodes apply them. */
export const CHANGES_KEY = `${FEED}:changes`;
/** Proof of the master key and the version of the formats, written by the first node. */
export const CLUSTER_KEY = `${FEED}:cluster`;
/** Live nodes: a hash of node id → what the node says about itself. */
export const NODES_KEY = `${FEED}:nodes`;

/** Other keys of the feed, such as the parts of a snapshot. */
export function feedKey(name: string): string {
  return `${FEED}:${name}`;
}

/** Requests to one node, and replies to it. */
export function nodeKey(nodeId: string, name: string): string {
  return `{gh:n${nodeId}}:${name}`;
}

/** Keys of deliveries; `tag` groups those that one function uses together. */
export function deliveryKey(tag: string, name: string): string {
  return `{gh:w${tag}}:${name}`;
}

/** Keys of extraction; `tag` groups those that one function uses together. */
export function extractionKey(tag: string, name: string): string {
  return `{gh:x${tag}}:${name}`;
}
