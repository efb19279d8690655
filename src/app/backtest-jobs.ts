import { type ChildProcess, fork } from 'node:child_process';
import type { BacktestQueue, BacktestState, BacktestWish } from '../api/backtest-port.ts';
import { listRequestFiles } from '../history/request-log/request-files.ts';
import { requestLogPurpose } from '../history/request-log/request-frames.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { newId } from '../kernel/ids.ts';
import { programPath } from '../kernel/programs.ts';
import { LIST_VALUES_PURPOSE } from '../risk/lists/list-key.ts';
import type { BacktestOrder, BacktestSignal } from '../replay/backtest-messages.ts';
import { GRANTS_PURPOSE, LINKS_PURPOSE, REQUESTS_PURPOSE } from './installation.ts';
import type { Settings } from './settings.ts';

/** Choice: backtests of a customer that have not ended. */
const PENDING_PER_CUSTOMER_MAX = 2;
/** Choice: results that are kept, oldest first out; some 20 kB each. */
const KEPT_MAX = 200;

type Job = { -readonly [Name in keyof BacktestState]: BacktestState[Name] } & { readonly wish: BacktestWish };

/** Runs backtests one after the other, each in a separate process. */
export class BacktestJobs implements BacktestQueue {
  readonly #settings: Pick<Settings, 'dataDir' | 'geoipDir' | 'geoipPackages'>;
  readonly #keyFor: (purpose: string) => Buffer;
  /** In the order of their start. */
  readonly #jobs = new Map<string, Job>();
  #running: { readonly job: Job; readonly child: ChildProcess } | null = null;

  constructor(settings: Pick<Settings, 'dataDir' | 'geoipDir' | 'geoipPackages'>, keyFor: (purpose: string) => Buffer) {
    this.#settings = settings;
    this.#keyFor = keyFor;
  }

  start(wish: BacktestWish, nowMs: number): BacktestState | null {
    const own = [...this.#jobs.values()].filter((job) => job.wish.customer === wish.customer && !hasEnded(job));
    if (own.length >= PENDING_PER_CUSTOMER_MAX) return null;
    const job: Job = {
      id: newId('bt', nowMs),
      status: 'queued',
      progress: 0,
      replayed: 0,
      detail: '',
      result: null,
      wish,
    };
    this.#jobs.set(job.id, job);
    for (const [id, old] of this.#jobs) if (this.#jobs.size > KEPT_MAX && hasEnded(old)) this.#jobs.delete(id);
    const state = { ...job };
    this.#next();
    return state;
  }

  find(customer: CustomerNumber, id: string): BacktestState | null {
    const job = this.#jobs.get(id);
    return job?.wish.customer === customer ? job : null;
  }

  cancel(customer: CustomerNumber, id: string): BacktestState | null {
    const job = this.#jobs.get(id);
    if (job?.wish.customer !== customer) return null;
    if (job.status === 'queued') job.status = 'cancelled';
    if (job.status !== 'running') return job;
    job.status = 'cancelled';
    this.#running?.child.send({ kind: 'cancel' } satisfies BacktestOrder);
    return job;
  }

  /** Ends the process that runs. */
  close(): void {
    this.#running?.child.kill('SIGKILL');
  }

  #next(): void {
    if (this.#running !== null) return;
    const job = [...this.#jobs.values()].find(({ status }) => status === 'queued');
    if (job === undefined) return;
    job.status = 'running';
    const child = fork(programPath('backtest-child'), { execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    this.#running = { job, child };
    child.on('message', (message: BacktestSignal) => take(job, message));
    child.once('error', (error) => fail(job, error.message));
    child.once('close', () => {
      if (!hasEnded(job)) fail(job, 'the process ended early');
      this.#running = null;
      this.#next();
    });
    child.send(this.#taskOf(job.wish));
  }

  #taskOf({ customer, ...wish }: BacktestWish): BacktestOrder {
    const { dataDir, geoipDir, geoipPackages } = this.#settings;
    const hex = (purpose: string): string => this.#keyFor(purpose).toString('hex');
    const purposes = listRequestFiles(dataDir, customer).map(({ day }) => requestLogPurpose(customer, day));
    return {
      kind: 'start',
      dataDir,
      customer,
      ...wish,
      geoipDir,
      geoipPackages,
      keys: Object.fromEntries(purposes.map((purpose) => [purpose, hex(purpose)])),
      recordKeys: {
        links: hex(LINKS_PURPOSE),
        requests: hex(REQUESTS_PURPOSE),
        grants: hex(GRANTS_PURPOSE),
        lists: hex(LIST_VALUES_PURPOSE),
        velocity: hex('velocity-hash'),
      },
    };
  }
}

function take(job: Job, message: BacktestSignal): void {
  if (message.kind === 'progress') {
    job.progress = message.share;
    job.replayed = message.events;
  } else if (message.kind === 'failed') fail(job, message.detail);
  else {
    job.result = message.result;
    // A cancelled one has what was computed until then.
    if (job.status === 'running') {
      job.status = 'succeeded';
      job.progress = 1;
    }
  }
}

function fail(job: Job, detail: string): void {
  if (hasEnded(job)) return;
  job.status = 'failed';
  job.detail = detail;
}

function hasEnded({ status }: BacktestState): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled';
}
