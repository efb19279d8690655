import { setTimeout as sleep } from 'node:timers/promises';
import { readSettings } from '../../app/settings.ts';
import {
  clusterStatus,
  forgetNode,
  leaveCluster,
  type NodeStatus,
  prepareJoin,
} from '../../cluster/feed/membership-commands.ts';
import type { Link } from '../../cluster/store/link.ts';
import { readNodeId } from '../../cluster/nodes/node-id.ts';
import { openLink } from '../../cluster/store/redis-link.ts';
import { makeFilesPrivate } from '../../state/repair/private-files.ts';
import { failureOf, ok, type CommandOutcome, usage } from '../command-outcome.ts';
import type { Cli } from '../context.ts';
import { tableText } from '../text-table.ts';

/** Choice: a store on the same network answers within milliseconds. */
const ANSWER_MS_MAX = 3_000;
const POLL_MS = 20;

export function addCluster(cli: Cli): void {
  const cluster = cli.program.command('cluster').description('nodes that share one service (GATEHOUSE_CLUSTER_URL)');
  cluster
    .command('status')
    .description('show the nodes, their versions, positions in the changes, and lag')
    .action(() => cli.run(() => withLink(cli, showStatus)));
  cluster
    .command('join')
    .description('say what the next start in the cluster does with the data directory; the server must be stopped')
    .option('--replace', "replace the data by the cluster's; other data is moved aside", false)
    .action(({ replace }: { readonly replace: boolean }) =>
      cli.run(() => withLink(cli, (link) => join(cli, link, replace))),
    );
  cluster
    .command('leave')
    .description('make the data directory work alone, with all its data; the server must be stopped')
    .option('--force', 'from any state, also with incomplete data', false)
    .action(({ force }: { readonly force: boolean }) => cli.run(() => leave(cli, force)));
}

async function showStatus(link: Link): Promise<CommandOutcome> {
  const status = await clusterStatus(link);
  if (status.kind === 'fault') return failureOf(status);
  const { head, nodes } = status;
  const json = {
    cluster: head?.cluster ?? null,
    changes: head?.number ?? null,
    nodes: nodes.map((node) => ({
      node: node.id,
      live: node.isLive,
      version: node.version,
      state: node.state,
      detail: node.detail,
      position: node.number,
      behind: node.behind,
      lag_ms: node.lagMs,
      reported_ms_ago: node.reportedMsAgo,
    })),
  };
  const titles = ['Node', 'Version', 'State', 'Position', 'Behind', 'Lag', 'Reported'];
  const rows = nodes.map(rowOf);
  const about = head === null ? 'The store has no cluster.' : `Cluster ${head.cluster}, change ${head.number}.`;
  return ok(
    json,
    `${tableText(titles, rows, 'No node has reported.')}\n${about}`,
    nodes.some(({ isLive }) => !isLive),
  );
}

function rowOf({ id, version, state, isLive, number, behind, lagMs, reportedMsAgo }: NodeStatus): string[] {
  const shown = isLive ? state : 'gone';
  return [
    id,
    version,
    shown,
    String(number),
    String(behind),
    `${lagMs} ms`,
    `${Math.round(reportedMsAgo / 1000)} s ago`,
  ];
}

const PROSPECTS = {
  found: 'The store has no cluster: the next start founds it with the data of this directory.',
  found_empty:
    'The store has no cluster, and this directory has no data: the next start founds a cluster without data. If another directory has the ' +
    'data, start its server first; once there is a cluster, its data can only replace that of others.',
  join: 'The next start joins the cluster and takes its data.',
  continue: 'The directory belongs to this cluster: the next start catches up.',
  replace: "The next start takes the cluster's data again; decisions and deliveries of this node stay.",
} as const;

async function join(cli: Cli, link: Link, isReplacing: boolean): Promise<CommandOutcome> {
  makeFilesPrivate();
  const { dataDir } = cli.globals();
  const prospect = await prepareJoin(link, dataDir, isReplacing, Date.now());
  if (prospect.kind === 'fault') return failureOf(prospect);
  const moved =
    prospect.aside === null
      ? ''
      : `\nThe old data is in ${dataDir}/${prospect.aside}; remove it when it is not needed.`;
  return ok({ next_start: prospect.will, moved_to: prospect.aside }, `${PROSPECTS[prospect.will]}${moved}`);
}

async function leave(cli: Cli, isForced: boolean): Promise<CommandOutcome> {
  makeFilesPrivate();
  const { dataDir } = cli.globals();
  const left = await leaveCluster(dataDir, isForced);
  if (left.kind === 'fault') return failureOf(left);
  if (!left.was) return ok({ left: false }, `${dataDir} is in no cluster; nothing was changed.`);
  // The others also notice by themselves that the node is gone.
  const read = clusterOf(cli);
  if (read.kind === 'ok') {
    await withLink(cli, async (link) => {
      await forgetNode(link, readNodeId(dataDir, read.settings.nodeId));
      return ok({}, '');
    });
  }
  return ok(
    { left: true },
    `${dataDir} works alone from the next start on, with the decisions that this node made. Unset GATEHOUSE_CLUSTER_URL before it.`,
  );
}

type Read =
  | { readonly kind: 'ok'; readonly settings: NonNullable<ReturnType<typeof settingsOf>> }
  | { readonly kind: 'refused'; readonly outcome: CommandOutcome };

function clusterOf(cli: Cli): Read {
  const settings = settingsOf(cli);
  if (settings !== null) return { kind: 'ok', settings };
  return { kind: 'refused', outcome: usage('usage', 'set GATEHOUSE_CLUSTER_URL to the address of the shared store') };
}

function settingsOf(cli: Cli) {
  const names = ['GATEHOUSE_CLUSTER_URL', 'GATEHOUSE_CLUSTER_USER', 'GATEHOUSE_CLUSTER_PASSWORD', 'GATEHOUSE_NODE_ID'];
  const env = Object.fromEntries(Object.entries(cli.io.env).filter(([name]) => names.includes(name)));
  const read = readSettings(env, []);
  return read.kind === 'faults' ? null : read.settings.cluster;
}

async function withLink(cli: Cli, work: (link: Link) => Promise<CommandOutcome>): Promise<CommandOutcome> {
  const read = clusterOf(cli);
  if (read.kind === 'refused') return read.outcome;
  const link = openLink(read.settings);
  try {
    const deadline = performance.now() + ANSWER_MS_MAX;
    while (!link.isUp && performance.now() < deadline) await sleep(POLL_MS);
    return await work(link);
  } finally {
    await link.close();
  }
}
