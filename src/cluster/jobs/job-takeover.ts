import type { StoredJob } from '../../state/tables/extractions/job-rows.ts';
import type { JobOwners } from '../../state/tables/extractions/owner-table.ts';
import type { LiveNode } from '../../state/tables/shared-jobs.ts';
import type { OwnedJob } from './job-ops.ts';

export interface TakeoverParts {
  readonly node: string;
  readonly owners: JobOwners;
  unfinished(): Iterable<StoredJob>;
  /** Writes the claims to the log; the first of several nodes gets the job. */
  claim(jobs: readonly OwnedJob[]): Promise<unknown>;
  readonly tickMs?: number;
}

/** Choice: jobs of a dead node are continued within some seconds after membership has declared it dead. */
const TICK_MS = 500;
/** Choice: after this many ticks any node claims a job whose turn it is not: the chosen one may be dying too. */
const OTHERS_TICKS = 4;
const CLAIMS_MAX = 500;

/** Claims the unfinished jobs of nodes that are gone, and those that no node runs yet. Each job has one node that claims it first. */
export class JobTakeover {
  readonly #parts: TakeoverParts;
  #nodes: readonly LiveNode[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isClaiming = false;
  #ticks = 0;

  constructor(parts: TakeoverParts) {
    this.#parts = parts;
  }

  setNodes(nodes: readonly LiveNode[]): void {
    this.#nodes = nodes;
    this.scan();
  }

  /** Searches for jobs without a live node until there is none. */
  scan(): void {
    this.#ticks = 0;
    this.#timer ??= setInterval(() => void this.#tick(), this.#parts.tickMs ?? TICK_MS).unref();
    void this.#tick();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #tick(): Promise<void> {
    if (this.#isClaiming) return;
    const orphans = this.#orphans();
    if (orphans.length === 0) return this.close();
    const isLate = ++this.#ticks > OTHERS_TICKS;
    const mine = orphans.filter(([job]) => isLate || this.#isTurn(job)).slice(0, CLAIMS_MAX);
    if (mine.length === 0) return;
    this.#isClaiming = true;
    await this.#parts.claim(mine);
    this.#isClaiming = false;
  }

  #orphans(): readonly OwnedJob[] {
    const live = new Set(this.#nodes.map(({ id }) => id));
    // Before the first list of nodes nothing is known about anybody.
    if (!this.#runsJobs || live.size === 0) return [];
    const orphans: OwnedJob[] = [];
    for (const { job } of this.#parts.unfinished()) {
      const owner = this.#parts.owners.get(job.number);
      if (owner !== null && !live.has(owner.node)) orphans.push([job.number, owner.token]);
    }
    return orphans;
  }

  get #runsJobs(): boolean {
    return this.#nodes.some(({ id, runsJobs }) => id === this.#parts.node && runsJobs);
  }

  #isTurn(job: number): boolean {
    const runners = this.#nodes
      .filter(({ runsJobs }) => runsJobs)
      .map(({ id }) => id)
      .toSorted();
    return runners[job % runners.length] === this.#parts.node;
  }
}
