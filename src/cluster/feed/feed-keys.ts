import { feedKey } from '../store-keys.ts';

export { CHANGES_KEY } from '../store-keys.ts';

/**
 * The keys of the feed, all in one slot. The stream's ids are `<number of the change>-<part>`; the numbers have no gap.
 *
 * | key                        | type   | content                                                                                       |
 * |----------------------------|--------|-----------------------------------------------------------------------------------------------|
 * | `{gh:feed}:head`           | hash   | `id` of the cluster, `check` of its master key, `format`, `number` and token (`last`) of the newest change, `bytes` appended so far, `w:<run>` last batch of a writer and the change after it |
 * | `{gh:feed}:changes`        | stream | `t` token, `p` token of the change before, `m` ms on the store's clock, `b` bytes so far, `c` parts, `d` part, encrypted |
 * | `{gh:feed}:replicas`       | hash   | node id → JSON, what the node knows and how far it is (`ReplicaRecord`)                        |
 * | `{gh:feed}:wanted`         | hash   | node id → JSON, a request for a snapshot                                                      |
 * | `{gh:feed}:giver:<request>` | string | id of the node that writes the snapshot; expires                                              |
 * | `{gh:feed}:chunks:<request>` | list | chunks of the snapshot, encrypted; expires                                                    |
 */
export const HEAD_KEY = feedKey('head');
export const REPLICAS_KEY = feedKey('replicas');
export const WANTED_KEY = feedKey('wanted');

export function giverKey(request: string): string {
  return feedKey(`giver:${request}`);
}

export function chunksKey(request: string): string {
  return feedKey(`chunks:${request}`);
}

/** Version of the feed's keys and of the form of its entries. Nodes of another one are refused. */
export const FEED_FORMAT = '1';
