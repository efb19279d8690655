import { createGuardedClient } from '../egress/guarded-client.ts';
import { EXTRACT_USER_AGENT } from '../kernel/limits.ts';
import { publishedFeeds } from './fetch-feed.ts';
import { updateFeeds } from './update-feeds.ts';

/** The only argument, as JSON. */
export interface FeedUpdateSettings {
  readonly dataDir: string;
  readonly geoipDir: string;
  readonly egressAllow: readonly string[];
}

/** Updates the feeds once, sends the results to the server that started it, and ends. */
process.once('disconnect', () => process.exit(1));
const { dataDir, geoipDir, egressAllow } = JSON.parse(process.argv[2] ?? '') as FeedUpdateSettings;
const client = createGuardedClient({ allow: egressAllow });
const results = await updateFeeds({
  dataDir,
  geoipDir,
  fetch: publishedFeeds(client, EXTRACT_USER_AGENT),
  accepted: new Set(),
  nowSeconds: () => Math.floor(Date.now() / 1_000),
});
client.close();
process.send?.(
  results.map(({ feed, state, reason }) => ({ feed, state, ...(reason !== null && { reason }) })),
  () => process.exit(0),
);
