import { Option } from 'commander';
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readSettings } from '../../app/settings.ts';
import { publishedFeeds, sourceFault } from '../../data/fetch-feed.ts';
import { CUSTOM_FEEDS_MAX, FEED_NAME, FEEDS_FOLDER, readFeedStates, writeFeedStates } from '../../data/feed-folder.ts';
import { feedReports } from '../../data/feed-report.ts';
import { updateMaxmind } from '../../data/maxmind.ts';
import { FEED_KINDS, type FeedKind, FEEDS } from '../../data/manifest.ts';
import { type FeedResult, offlineFeeds, updateFeeds } from '../../data/update-feeds.ts';
import { createGuardedClient } from '../../egress/guarded-client.ts';
import { EXTRACT_USER_AGENT } from '../../kernel/limits.ts';
import type { Cli } from '../context.ts';
import { type CommandOutcome, failure, ok, usage } from '../command-outcome.ts';
import { tableText } from '../text-table.ts';

interface UpdateOptions {
  readonly offline?: string;
  readonly accept?: readonly string[];
}

export function addData(cli: Cli): void {
  const data = cli.program
    .command('data')
    .description(
      'feeds about networks and mail domains: Tor, VPNs, clouds, crawlers, autonomous systems, disposable and free mail',
    );

  data
    .command('list')
    .description('show the feeds, their ages, licences and sources')
    .action(() => cli.run(async () => listFeeds(cli)));

  data
    .command('update')
    .description('fetch, check and compile the feeds; a running server takes them over by itself')
    .option(
      '--offline <folder>',
      `take the files of a folder (${FEEDS.map(({ file }) => file).join(', ')}), and fetch nothing`,
    )
    .option('--accept <feed...>', 'use the new file of these feeds although its size changed by more than half')
    .action((options: UpdateOptions) => cli.run(async () => updateAll(cli, options)));

  data
    .command('add <name> <source>')
    .description('add a feed of your own: an https address, or a file, with one address or network a line')
    .addOption(new Option('--kind <kind>', 'what its networks are').choices(FEED_KINDS).makeOptionMandatory())
    .action((name: string, source: string, { kind }: { readonly kind: FeedKind }) =>
      cli.run(async () => addFeed(cli, name, source, kind)),
    );

  data
    .command('remove <name>')
    .description('remove a feed of your own; the next update leaves it out')
    .action((name: string) => cli.run(async () => removeFeed(cli, name)));
}

async function listFeeds(cli: Cli): Promise<CommandOutcome> {
  const { dataDir } = cli.globals();
  const reports = Object.entries(feedReports(dataDir, Date.now()));
  const { custom } = readFeedStates(dataDir);
  const feeds = reports.map(([feed, report]) => {
    const known = FEEDS.find(({ name }) => name === feed);
    return {
      feed,
      ...report,
      source: known?.source ?? custom.find(({ name }) => name === feed)?.source ?? null,
      licence: known?.licence ?? 'that of the file',
    };
  });
  const rows = feeds.map(({ feed, state, version, age_days: days, rows: count, detail }) => [
    feed,
    state,
    version ?? '',
    days === null ? '' : `${days} days`,
    count === null ? '' : String(count),
    detail,
  ]);
  return ok({ feeds }, tableText(['feed', 'state', 'version', 'age', 'rows', ''], rows, 'no feeds'));
}

async function updateAll(cli: Cli, { offline, accept = [] }: UpdateOptions): Promise<CommandOutcome> {
  const read = readSettings({ ...cli.io.env, GATEHOUSE_DATA_DIR: cli.globals().dataDir }, []);
  if (read.kind === 'faults') return usage('invalid_settings', read.faults.join('\n'));
  const { dataDir, geoipDir, egressAllow, maxmind } = read.settings;
  if (offline !== undefined && !existsSync(offline)) return failure('no_folder', `there is no folder ${offline}`);
  const client = createGuardedClient({ allow: egressAllow });
  try {
    const feeds = await updateFeeds({
      dataDir,
      geoipDir,
      fetch: offline === undefined ? publishedFeeds(client, EXTRACT_USER_AGENT) : offlineFeeds(offline),
      accepted: new Set(accept),
      nowSeconds: () => Math.floor(Date.now() / 1_000),
    });
    const databases =
      maxmind === null || offline !== undefined
        ? []
        : await updateMaxmind({ ...maxmind, client, geoipDir, userAgent: EXTRACT_USER_AGENT });
    const results = [...feeds, ...databases];
    const isHeld = results.some(({ state }) => state === 'held');
    const head = ['feed', 'state', 'version', 'rows', 'dropped', ''];
    return ok({ feeds: results }, tableText(head, results.map(rowOf), 'no feeds'), isHeld);
  } finally {
    client.close();
  }
}

function rowOf({ feed, state, version, rows, dropped, reason, detail }: FeedResult): string[] {
  const why = reason === null ? detail : `${reason}: ${detail}`;
  return [feed, state, version ?? '', rows === null ? '' : String(rows), String(dropped), why];
}

async function addFeed(cli: Cli, name: string, source: string, kind: FeedKind): Promise<CommandOutcome> {
  const { dataDir } = cli.globals();
  if (!FEED_NAME.test(name))
    return usage('invalid_name', 'a name has lower-case letters, digits and underscores, at most 32');
  if (FEEDS.some((feed) => feed.name === name)) return failure('name_taken', `${name} is a feed of the service`);
  const isFile = !/^https?:/i.test(source);
  if (isFile && !existsSync(source)) return failure('no_file', `there is no file ${source}`);
  const fault = isFile ? null : sourceFault(source);
  if (fault !== null) return failure('invalid_source', `${source}: ${fault}`);
  const states = readFeedStates(dataDir);
  const others = states.custom.filter((feed) => feed.name !== name);
  if (others.length >= CUSTOM_FEEDS_MAX)
    return failure('too_many', `there are ${CUSTOM_FEEDS_MAX} feeds of your own already`);
  writeFeedStates(dataDir, {
    ...states,
    custom: [...others, { name, kind, source: isFile ? resolve(source) : source }],
  });
  return ok({ feed: name, kind }, `added; gatehouse data update reads it`);
}

async function removeFeed(cli: Cli, name: string): Promise<CommandOutcome> {
  const { dataDir } = cli.globals();
  const { feeds, custom } = readFeedStates(dataDir);
  if (!custom.some((feed) => feed.name === name))
    return failure('unknown_feed', `there is no feed ${name} of your own`);
  const { [name]: _removed, ...kept } = feeds;
  writeFeedStates(dataDir, { feeds: kept, custom: custom.filter((feed) => feed.name !== name) });
  rmSync(join(dataDir, FEEDS_FOLDER, `${name}.txt`), { force: true });
  return ok({ feed: name }, 'removed; the next update leaves it out');
}
