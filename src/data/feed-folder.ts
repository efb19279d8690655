import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { type DataFeed, FEED_KINDS, FEED_ROWS_MAX, FEEDS } from './manifest.ts';

/**
 * The folder of feeds below the data directory: the file of each feed that is in use, and `state.json`, which the server reads for
 * `/readyz`.
 */
export const FEEDS_FOLDER = 'feeds';
const STATE_FILE = 'state.json';

/** Choice: each is a file that is read at every update. */
export const CUSTOM_FEEDS_MAX = 32;
export const FEED_NAME = /^[a-z][a-z0-9_]{0,31}$/;

const KEPT = z.object({
  /** YYYY-MM-DD: when its publisher wrote it, or when it came. */
  version: z.string(),
  rows: z.number(),
  dropped: z.number(),
  updatedAtSeconds: z.number(),
});
const HELD = z.object({ reason: z.string(), detail: z.string(), atSeconds: z.number() });
const STATE = z.object({
  feeds: z.record(
    z.string(),
    z.object({
      kept: KEPT.nullable(),
      /** The newest file was not used; null if it was. */
      held: HELD.nullable(),
    }),
  ),
  custom: z
    .array(z.object({ name: z.string().regex(FEED_NAME), kind: z.enum(FEED_KINDS), source: z.string() }))
    .max(CUSTOM_FEEDS_MAX),
});

export type FeedStates = z.infer<typeof STATE>;
export type CustomFeed = FeedStates['custom'][number];

/** Returns the states of a data directory without the folder, too. Throws a SyntaxError or ZodError for a damaged file. */
export function readFeedStates(dataDir: string): FeedStates {
  let text: string;
  try {
    text = readFileSync(join(dataDir, FEEDS_FOLDER, STATE_FILE), 'utf8');
  } catch {
    return { feeds: {}, custom: [] };
  }
  return STATE.parse(JSON.parse(text));
}

export function writeFeedStates(dataDir: string, states: FeedStates): void {
  const folder = join(dataDir, FEEDS_FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  replaceFile(join(folder, STATE_FILE), `${JSON.stringify(states, null, 2)}\n`);
}

/** Writes a file beside its place and renames it: a server may read it at any time. */
export function replaceFile(path: string, content: string | Buffer): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}

/** Returns the feeds of the manifest and those of the operator. */
export function allFeeds({ custom }: Pick<FeedStates, 'custom'>): readonly DataFeed[] {
  return [
    ...FEEDS,
    ...custom.map(({ name, kind, source }): DataFeed => {
      return {
        name,
        file: `${name}.txt`,
        form: 'lines',
        marks: kind,
        source,
        licence: 'that of the file',
        isShipped: false,
        rowsMin: 1,
        rowsMax: FEED_ROWS_MAX,
        oldAfterDays: 30,
        without: `the feed ${name} is not used`,
      };
    }),
  ];
}
