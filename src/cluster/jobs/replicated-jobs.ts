import { unreachable } from '../../kernel/brand.ts';
import { committed, type StoreWrite } from '../../state/tables/durable.ts';
import type { ExtractStore } from '../../state/tables/extract-store.ts';
import type {
  AppliedResult,
  ExtractionJobs,
  JobCreated,
  NewStoredJob,
  PartResult,
} from '../../state/tables/extraction-table.ts';
import type { StoredJob } from '../../state/tables/extractions/job-rows.ts';
import type { JobNumber } from '../../state/tables/extractions/row-keys.ts';
import type { ContentChange, SessionStore } from '../../state/tables/session-table.ts';
import type { JobNews } from '../../state/tables/shared-jobs.ts';
import type { Extraction } from '../../work/extraction-job.ts';
import type { LogFollower } from './log-follower.ts';
import { type JobOp, type OpOrigin, type OwnedJob, packResult, unpackResult, type WireResult } from './job-ops.ts';

/** Inputs of applying an entry besides its bytes: the same functions on all nodes. */
export interface JobFunctions {
  readonly encryptionKey: Uint8Array;
  readonly answer: (job: Extraction, newSecret: string | null) => Uint8Array;
  readonly sessionChange: (changesJson: string, atMs: number) => ContentChange;
}

/** Applies the entries of the log to the tables of this node. */
export class JobApplier {
  readonly #store: ExtractStore;
  readonly #node: string;
  readonly #functions: JobFunctions;
  readonly #onNews: (news: JobNews) => void;

  constructor(store: ExtractStore, node: string, functions: JobFunctions, onNews: (news: JobNews) => void) {
    this.#store = store;
    this.#node = node;
    this.#functions = functions;
    this.#onNews = onNews;
  }

  apply(op: JobOp, origin: OpOrigin, number: number, isAwaited: boolean): Promise<StoreWrite<unknown>> {
    const { extractions, sessions } = this.#store;
    const { nowMs } = origin;
    switch (op.kind) {
      case 'create':
        return this.#create(op, origin, number);
      case 'begin':
        return extractions.begin(
          op.jobs.filter((owned) => this.#isOwner(owned, origin)).map(([job]) => job),
          nowMs,
        );
      case 'apply':
        return this.#results(op.results, origin, isAwaited);
      case 'end':
        return this.#end(op, origin, isAwaited);
      case 'save':
        return this.#isOwner(op.owned, origin) ? extractions.saveDelivery(op.owned[0], op.state) : NOT_OWNER;
      case 'delivered':
        return this.#isOwner(op.owned, origin) ? extractions.delivered(op.owned[0], op.status) : NOT_OWNER;
      case 'claim':
        return this.#claim(op.jobs, origin);
      case 'session':
        return sessions.create(this.#functions.encryptionKey, op.session, op.content);
      case 'session_removed':
        return sessions.remove(op.customer, op.id);
      default:
        return unreachable(op);
    }
  }

  /** Returns whether the writer runs the job: a former owner changes nothing, wherever its results were when it lost the job. */
  #isOwner([job, token]: OwnedJob, { node }: OpOrigin): boolean {
    const owner = this.#store.owners.get(job);
    return owner === null ? token === 0 && node === this.#node : owner.node === node && owner.token === token;
  }

  #create(
    { job, steps, idempotency, owner }: Extract<JobOp, { kind: 'create' }>,
    { nowMs }: OpOrigin,
    number: number,
  ): Promise<StoreWrite<JobCreated>> {
    const { encryptionKey, answer } = this.#functions;
    const stored = this.#store.extractions.find(job.customer, job.id);
    if (stored !== null) return Promise.resolve({ kind: 'ok', value: { kind: 'created', stored } });
    const given: NewStoredJob = {
      job,
      steps,
      idempotency: idempotency && {
        encryptionKey,
        request: { customer: job.customer, key: idempotency.key, bodySha256: idempotency.bodySha256 },
        newSecret: idempotency.newSecret,
        answer,
      },
      shared: { number, owner: { node: owner, token: 1 } },
    };
    return this.#store.extractions.create(given, nowMs);
  }

  async #results(
    results: readonly WireResult[],
    origin: OpOrigin,
    isAwaited: boolean,
  ): Promise<StoreWrite<readonly AppliedResult[]>> {
    const { extractions } = this.#store;
    const jobs = results.map(({ owned }) => (this.#isOwner(owned, origin) ? extractions.openJob(owned[0]) : null));
    const own = results.flatMap((wire, n) => {
      const job = jobs[n]?.job;
      return job === undefined ? [] : [unpackResult(wire, job, (session) => this.#sessionOf(session))];
    });
    const written = await extractions.apply(own, origin.nowMs);
    if (written.kind === 'fault') return written;
    const applied = [...written.value];
    const all = results.map(({ owned: [job] }, n): AppliedResult => {
      const one = jobs[n] === null ? undefined : applied.shift();
      return one ?? { state: extractions.stateOf(job), isTaken: false, isEnd: false };
    });
    if (!isAwaited) for (const [n, one] of all.entries()) this.#ended(jobs[n] ?? null, one);
    return { kind: 'ok', value: all };
  }

  #sessionOf({ changesJson, atMs }: NonNullable<WireResult['session']>): NonNullable<PartResult['session']> {
    const { encryptionKey, sessionChange } = this.#functions;
    return { encryptionKey, changesJson, atMs, change: sessionChange(changesJson, atMs) };
  }

  async #end(
    { job, token, failure, entries }: Extract<JobOp, { kind: 'end' }>,
    origin: OpOrigin,
    isAwaited: boolean,
  ): Promise<StoreWrite<AppliedResult>> {
    const { extractions } = this.#store;
    const stored = token === null || this.#isOwner([job, token], origin) ? extractions.openJob(job) : null;
    if (stored === null)
      return { kind: 'ok', value: { state: extractions.stateOf(job), isTaken: false, isEnd: false } };
    const ended = await extractions.end(stored.job, failure, entries, origin.nowMs);
    if (ended.kind === 'ok' && !isAwaited) this.#ended(stored, ended.value);
    return ended;
  }

  #ended(stored: StoredJob | null, { state, isEnd }: AppliedResult): void {
    if (stored !== null && state !== null && isEnd) this.#onNews({ kind: 'ended', stored: { job: stored.job, state } });
  }

  async #claim(jobs: readonly OwnedJob[], { node }: OpOrigin): Promise<StoreWrite<null>> {
    const { owners, root } = this.#store;
    const written = await committed(root, () => {
      const free = jobs.filter(([job, token]) => (owners.get(job)?.token ?? -1) === token);
      const before = free.map(([job]) => owners.get(job)?.node);
      for (const [job, token] of free) owners.put(job, { node, token: token + 1 });
      return free.map(([job], n) => ({ job, from: before[n] }));
    });
    if (written.kind === 'fault') return written;
    for (const { job, from } of written.value) {
      const stored = node === this.#node ? unfinishedJob(this.#store, job) : null;
      if (stored !== null) this.#onNews({ kind: 'adopted', stored, from: from ?? '' });
      else if (from === this.#node && node !== this.#node) this.#onNews({ kind: 'lost', job });
    }
    return DONE;
  }
}

const DONE = { kind: 'ok', value: null } as const;
const NOT_OWNER = Promise.resolve({ kind: 'ok', value: false } as const);

/** Yields the jobs that have not ended, and the ended ones whose results are still to be delivered. */
export function* unfinishedJobs({ extractions }: Pick<ExtractStore, 'extractions'>): Generator<StoredJob> {
  yield* extractions.open();
  for (const { customer, id } of extractions.deliveries.pending()) {
    const stored = extractions.find(customer, id);
    if (stored !== null) yield stored;
  }
}

function unfinishedJob(store: ExtractStore, number: JobNumber): StoredJob | null {
  const open = store.extractions.openJob(number);
  if (open !== null) return open;
  for (const stored of unfinishedJobs(store)) if (stored.job.number === number) return stored;
  return null;
}

export interface ReplicatedStoreParts {
  readonly local: ExtractStore;
  readonly follower: LogFollower;
  readonly node: string;
  readonly runsJobs: boolean;
  readonly nowMs: () => number;
}

/** Returns the store with writes that go through the log of all nodes. Reads, and the removal of old rows, are those of this node. */
export function createReplicatedStore(parts: ReplicatedStoreParts): ExtractStore {
  const { local } = parts;
  return { ...local, extractions: replicatedJobs(parts), sessions: replicatedSessions(parts) };
}

/** Returns the token of this node for a job that it runs; null if it does not. */
export function tokenOf({ local, node }: Pick<ReplicatedStoreParts, 'local' | 'node'>, job: JobNumber): number | null {
  const owner = local.owners.get(job);
  if (owner === null) return 0;
  return owner.node === node ? owner.token : null;
}

function replicatedJobs(parts: ReplicatedStoreParts): ExtractionJobs {
  const { local, follower, node, runsJobs } = parts;
  const { extractions: jobs, counters } = local;
  const owned = (job: JobNumber): OwnedJob | null => {
    const token = tokenOf(parts, job);
    return token === null ? null : [job, token];
  };
  return {
    get endedBytes() {
      return jobs.endedBytes;
    },
    recount: () => jobs.recount(),
    boundEnded: (bytesMax) => jobs.boundEnded(bytesMax),
    recordsMaxOf: (job) => jobs.recordsMaxOf(job),
    find: (customer, id) => jobs.find(customer, id),
    page: (customer, query, slices) => jobs.page(customer, query, slices),
    stateOf: (job) => jobs.stateOf(job),
    open: () => jobs.open(),
    openJob: (job) => jobs.openJob(job),
    discardOpen: () => jobs.discardOpen(),
    deliveries: jobs.deliveries,
    prune: (nowMs, jobsMax) => jobs.prune(nowMs, jobsMax),
    clean: (rowsMax) => jobs.clean(rowsMax),
    create({ job, steps, idempotency }, nowMs) {
      const { key = '', bodySha256 = NO_BYTES } = idempotency?.request ?? {};
      const request = idempotency && { key, bodySha256, newSecret: idempotency.newSecret };
      const op: JobOp = { kind: 'create', job, steps, idempotency: request, owner: runsJobs ? node : '' };
      return follower.commit<JobCreated>(op, nowMs, counters.get('jobNumbers'));
    },
    begin(numbers, nowMs) {
      const own = numbers.flatMap((job) => [owned(job)].filter((one) => one !== null));
      return own.length === 0 ? Promise.resolve(DONE) : follower.commit<null>({ kind: 'begin', jobs: own }, nowMs);
    },
    apply: (results, nowMs) => applyOwn(parts, results, nowMs),
    end({ number }, failure, entries, nowMs) {
      const token = failure.reason === 'cancelled' ? null : tokenOf(parts, number);
      if (token === null && failure.reason !== 'cancelled')
        return Promise.resolve({ kind: 'ok', value: notApplied(local, number) });
      return follower.commit<AppliedResult>({ kind: 'end', job: number, token, failure, entries }, nowMs);
    },
    saveDelivery(job, state) {
      const own = owned(job);
      return own === null ? NOT_OWNER : follower.commit<boolean>({ kind: 'save', owned: own, state }, parts.nowMs());
    },
    delivered(job, status) {
      const own = owned(job);
      if (own === null) return NOT_OWNER;
      return follower.commit<boolean>({ kind: 'delivered', owned: own, status }, parts.nowMs());
    },
  };
}

const NO_BYTES = new Uint8Array(0);

/** Writes the results of jobs that this node runs; those of other jobs are not taken. */
async function applyOwn(
  parts: ReplicatedStoreParts,
  results: readonly PartResult[],
  nowMs: number,
): Promise<StoreWrite<readonly AppliedResult[]>> {
  const wires = results.map((result) => {
    const token = tokenOf(parts, result.job.number);
    return token === null ? null : packResult(result, token);
  });
  const own = wires.filter((wire) => wire !== null);
  const written =
    own.length === 0
      ? null
      : await parts.follower.commit<readonly AppliedResult[]>({ kind: 'apply', results: own }, nowMs);
  if (written?.kind === 'fault') return written;
  const applied = [...(written?.value ?? [])];
  const all = results.map(
    ({ job }, n) => (wires[n] === null ? undefined : applied.shift()) ?? notApplied(parts.local, job.number),
  );
  return { kind: 'ok', value: all };
}

function notApplied({ extractions }: ExtractStore, job: JobNumber): AppliedResult {
  return { state: extractions.stateOf(job), isTaken: false, isEnd: false };
}

function replicatedSessions({ local, follower, nowMs }: ReplicatedStoreParts): SessionStore {
  const { sessions } = local;
  return {
    find: (customer, id, atMs) => sessions.find(customer, id, atMs),
    contentOf: (key, customer, id, atMs) => sessions.contentOf(key, customer, id, atMs),
    page: (customer, query, atMs, slices) => sessions.page(customer, query, atMs, slices),
    changeContent: (key, customer, id, change) => sessions.changeContent(key, customer, id, change),
    sweep: (atMs, rowsMax) => sessions.sweep(atMs, rowsMax),
    create: (_key, session, content) => follower.commit({ kind: 'session', session, content }, nowMs()),
    remove: (customer, id) => follower.commit({ kind: 'session_removed', customer, id }, nowMs()),
  };
}
