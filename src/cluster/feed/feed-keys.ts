import { feedKey } from '../store/store-keys.ts';

export { CHANGES_KEY } from '../store/store-keys.ts';

/**
 * The keys of the feed, all in one slot. The stream's ids are `<number of the change>-<part>`; the numbers have no gap. A client of the
 * store can write anything into them, so nothing of them counts before it is authenticated.
 *
 * | key                        | type   | content                                                                                       |
 * |----------------------------|--------|-----------------------------------------------------------------------------------------------|
 * | `{gh:feed}:head`           | hash   | how the stream was founded: `id` of the cluster, `check` of its master key, `format`, `term`, `number` and token (`last`) before its first entry, `proof` |
 * | `{gh:feed}:changes`        | stream | `t` token, `p` token of the change before, `m` ms on the store's clock, `b` bytes so far, `c` parts, `d` part, encrypted for its place |
 * | `{gh:feed}:replicas`       | hash   | node id → signed JSON, what the node knows and how far it is (`Replica`)                       |
 * | `{gh:feed}:wanted`         | hash   | node id → signed JSON, a request for a snapshot                                               |
 * | `{gh:feed}:restart`        | string | signed JSON, the node that ends itself to take a snapshot; expires                            |
 * | `{gh:feed}:giver:<request>` | string | id of the node that writes the snapshot; expires                                              |
 * | `{gh:feed}:chunks:<request>` | list | chunks of the snapshot, encrypted for the request; expires                                    |
 */
export const HEAD_KEY = feedKey('head');
export const REPLICAS_KEY = feedKey('replicas');
export const WANTED_KEY = feedKey('wanted');
export const RESTART_KEY = feedKey('restart');

export function snapshotSenderKey(request: string): string {
  return feedKey(`giver:${request}`);
}

export function chunksKey(request: string): string {
  return feedKey(`chunks:${request}`);
}

/**
 * Version of the feed's keys and of the form of its entries. Nodes of another one are refused. Version 1 authenticated neither the place of
 * an entry nor the head.
 */
export const FEED_FORMAT = '2';
