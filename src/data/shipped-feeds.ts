import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMPILED_FILES, compileFeeds } from './compile-feeds.ts';
import { readFeedFile } from './feed-rows.ts';
import { FEEDS } from './manifest.ts';

/** What the build says about the shipped files. */
export const SHIPPED_FILE = 'shipped.json';

export interface ShippedFeed {
  /** YYYY-MM-DD. */
  readonly version: string;
  readonly rows: number;
}

/** Compiles the shipped feeds in `folder` into a database beside them. The build calls it; throws for a file that fails its checks. */
export function writeSnapshot(folder: string): void {
  let newestSeconds = 0;
  const shipped: Record<string, ShippedFeed> = {};
  const rows = FEEDS.filter(({ isShipped }) => isShipped).flatMap((feed) => {
    const reading = readFeedFile(feed, readFileSync(join(folder, feed.file)));
    if (reading.kind === 'held') throw new Error(`${feed.file}: ${reading.detail}`);
    if (reading.writtenAtSeconds === null) throw new Error(`${feed.file} has no date`);
    newestSeconds = Math.max(newestSeconds, reading.writtenAtSeconds);
    const version = new Date(reading.writtenAtSeconds * 1_000).toISOString().slice(0, 10);
    shipped[feed.name] = { version, rows: reading.rows.length };
    // A server has the shipped disposable domains in its program. Measured: 0.7 MB of the package as a database, 50 KB as text.
    return feed.name === 'disposable' ? [] : reading.rows;
  });
  const compiled = compileFeeds(rows, newestSeconds);
  for (const name of ['networks', 'domains'] as const) {
    const bytes = compiled[name];
    if (bytes !== null) writeFileSync(join(folder, COMPILED_FILES[name]), bytes);
  }
  writeFileSync(join(folder, SHIPPED_FILE), JSON.stringify(shipped));
}
