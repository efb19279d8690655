import { committed, type StoreFault } from '../../state/tables/durable.ts';
import type { ExtractStore } from '../../state/tables/extract-store.ts';
import type { JobNews, SharedJobs } from '../../state/tables/shared-jobs.ts';
import type { SharedPoliteness } from '../../ports/politeness.ts';
import { JobLog } from './job-log.ts';
import { JobSnapshots } from './job-snapshot.ts';
import { JobTakeover } from './job-takeover.ts';
import type { Link } from '../store/link.ts';
import { LogFollower } from './log-follower.ts';
import { createReplicatedStore, JobApplier, type JobFunctions, tokenOf, unfinishedJobs } from './replicated-jobs.ts';

export interface SharedExtractionParts {
  /** The tables of this node. */
  readonly store: ExtractStore;
  readonly link: Link;
  readonly reader: Link;
  /** Encrypts the log. */
  readonly key: Uint8Array;
  readonly node: string;
  readonly runsJobs: boolean;
  readonly functions: JobFunctions;
  readonly politeness: SharedPoliteness & { close(): void };
  nowMs(): number;
  onFault(fault: StoreFault): void;
  /** Called when this node was away for longer than the log reaches back: it takes all jobs from another node. */
  onGap(from: number, to: number): void;
  /** Called when this node stops at an entry of a newer build. */
  onUnknown(number: number, format: number): void;
  /** Called when the store had lost the newest entries of the log, with the number of those that this node has put back. */
  onPutBack(entries: number): void;
  /** Bounds for tests. */
  readonly logBytesMax?: number;
  readonly tickMs?: number;
}

/** Connects one node's engine to the jobs of the cluster. */
export function openSharedExtraction(parts: SharedExtractionParts): SharedJobs {
  const { store: local, node, runsJobs } = parts;
  const { root, counters } = local;
  let listener: ((news: JobNews) => void) | null = null;
  const onNews = (news: JobNews): void => listener?.(news);
  const applier = new JobApplier(local, node, parts.functions, onNews);
  const log = new JobLog({
    link: parts.link,
    reader: parts.reader,
    key: parts.key,
    ...(parts.logBytesMax !== undefined && { bytesMax: parts.logBytesMax }),
  });
  const snapshots = new JobSnapshots({
    link: parts.link,
    key: parts.key,
    node,
    store: local,
    onFault: (fault) => parts.onFault(fault),
    pollMs: parts.tickMs,
  });
  const follower: LogFollower = new LogFollower({
    log,
    node,
    position: {
      get: () => counters.get('jobLog'),
      async set(position) {
        await committed(root, () => counters.rise('jobLog', Math.max(0, position - counters.get('jobLog'))));
      },
    },
    async apply(op, origin, job, isAwaited) {
      const applied = await applier.apply(op, origin, job, isAwaited);
      if (op.kind === 'create' && op.owner === '') takeover.scan();
      return applied;
    },
    async replace(from, to) {
      parts.onGap(from, to);
      const position = await snapshots.load(to - 1, () => {
        for (const { job } of unfinishedJobs(local)) onNews({ kind: 'lost', job: job.number });
      });
      if (position !== null) adoptOwn();
      else if (from < to - 1) await discardOpen();
      return position;
    },
    onPutBack: (entries) => parts.onPutBack(entries),
    onFault: (fault) => parts.onFault(fault),
    onUnknown: (number, format) => parts.onUnknown(number, format),
  });
  async function discardOpen(): Promise<void> {
    const discarded = await local.extractions.discardOpen();
    if (discarded.kind === 'ok') for (const job of discarded.value) onNews({ kind: 'lost', job });
  }

  /** Continues the jobs of this node that another one has kept for it. */
  function adoptOwn(): void {
    for (const stored of unfinishedJobs(local))
      if (local.owners.get(stored.job.number)?.node === node) onNews({ kind: 'adopted', stored, from: '' });
  }

  const takeover = new JobTakeover({
    node,
    owners: local.owners,
    unfinished: () => unfinishedJobs(local),
    claim: (jobs) => follower.commit({ kind: 'claim', jobs }, parts.nowMs()),
    ...(parts.tickMs !== undefined && { tickMs: parts.tickMs }),
  });
  return {
    store: createReplicatedStore({ local, follower, node, runsJobs, nowMs: () => parts.nowMs() }),
    politeness: parts.politeness,
    owns: (job) => tokenOf({ local, node }, job) !== null,
    async follow() {
      snapshots.copies.start();
      await follower.follow();
    },
    state: () => follower.state,
    onNews(next) {
      listener = next;
    },
    caughtUp: () => follower.caughtUp(),
    get isStopped() {
      return follower.isStopped;
    },
    setNodes: (nodes) => takeover.setNodes(nodes),
    async close() {
      takeover.close();
      parts.politeness.close();
      await snapshots.copies.close();
      await parts.reader.close();
      await follower.close();
      await parts.link.close();
    },
  };
}
