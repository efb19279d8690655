import { createGuardedClient } from '../egress/guarded-client.ts';
import { EXTRACT_USER_AGENT } from '../kernel/limits.ts';
import { publishedFeeds } from './fetch-feed.ts';
import { updateMaxmind } from './maxmind.ts';
import { updateFeeds } from './update-feeds.ts';

/** The only argument, as JSON. */
export interface FeedUpdateSettings {
  readonly dataDir: string;
  readonly geoipDir: string;
  readonly egressAllow: readonly string[];
}

/** The key comes by the environment: arguments of a process can be read by others on the machine. */
const { GATEHOUSE_MAXMIND_ACCOUNT: account = '', GATEHOUSE_MAXMIND_LICENSE_KEY: licenseKey = '' } = process.env;

/** Updates the feeds once, sends the results to the server that started it, and ends. */
process.once('disconnect', () => process.exit(1));
const { dataDir, geoipDir, egressAllow } = JSON.parse(process.argv[2] ?? '') as FeedUpdateSettings;
const client = createGuardedClient({ allow: egressAllow });
const feeds = await updateFeeds({
  dataDir,
  geoipDir,
  fetch: publishedFeeds(client, EXTRACT_USER_AGENT),
  accepted: new Set(),
  nowSeconds: () => Math.floor(Date.now() / 1_000),
});
const databases =
  account === '' || licenseKey === ''
    ? []
    : await updateMaxmind({ account, licenseKey, client, geoipDir, userAgent: EXTRACT_USER_AGENT });
client.close();
process.send?.(
  [...feeds, ...databases].map(({ feed, state, reason }) => ({ feed, state, ...(reason !== null && { reason }) })),
  () => process.exit(0),
);
