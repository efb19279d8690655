import { hash } from 'node:crypto';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { newId } from '../../kernel/ids.ts';
import { decodeFirst } from '../base/first-answer.ts';
import { checkRequest } from '../request/read-request.ts';
import { messageOf } from '../../state/tables/durable.ts';
import type { ExtractionId } from '../../work/extraction-job.ts';
import { hasEnded } from '../../work/extraction-state.ts';
import type { Watch, WatchEnd, WatchFailure, WatchId, WatchRun } from '../../work/watch.ts';
import { dueAfter, dueRun, isStranded } from '../../work/watch-schedule.ts';
import { compareRecords } from './watch-findings.ts';
import type { WatchRunnerParts } from './watch-parts.ts';

/** Choice: a store that is full or a record that cannot be read fails for longer than a tick. */
const FAILED_WAIT_MS = 60_000;

type Began = Watch & { readonly running: WatchRun };

/**
 * Runs the watches of all customers: begins what is due, starts its extraction, and compares the records when that has ended. The store
 * holds every step, and the feed of changes decides between nodes, so that a kill at any moment repeats a step and no effect.
 * Failure direction: a step that fails is tried again a minute later, and delays no other watch.
 */
export class WatchRunner {
  readonly #parts: WatchRunnerParts;
  /** Watch → when it needs attention next, Unix ms; 0 while a run is on its way. */
  readonly #attention = new Map<WatchId, { readonly customer: CustomerNumber; readonly atMs: number }>();
  #ticking: Promise<void> | null = null;
  #isStopped = false;
  /** Time of the last tick, Unix ms. */
  #tickedMs = Number.POSITIVE_INFINITY;

  constructor(parts: WatchRunnerParts) {
    this.#parts = parts;
    for (const watch of parts.watches.all()) this.#note(watch);
    parts.changes.onCommitted(({ change }) => {
      if (!change.kind.startsWith('watch.') || change.kind === 'watch.compared') return;
      parts.resetRead();
      const { customer, id } = 'watch' in change ? change.watch : (change as { customer: CustomerNumber; id: WatchId });
      const watch = parts.watches.find(customer, id);
      if (watch === null) this.#attention.delete(id);
      else this.#note(watch);
    });
  }

  /** Resolves when all watches that need it have made a step. A call while one is on its way waits for that one. */
  tick(): Promise<void> {
    this.#ticking ??= this.#tick().finally(() => (this.#ticking = null));
    return this.#ticking;
  }

  /** Begins no further step. Resolves when the one on its way has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#ticking;
  }

  #note(watch: Watch): void {
    const { id, customer, running, isPaused, dueAtMs } = watch;
    if (running === null && isPaused) this.#attention.delete(id);
    else this.#attention.set(id, { customer, atMs: running === null ? dueAtMs : 0 });
  }

  async #tick(): Promise<void> {
    const { watches, log } = this.#parts;
    const nowMs = this.#parts.nowMs();
    // Before the first tick, the clock may have been set back too.
    const wentBack = nowMs < this.#tickedMs;
    this.#tickedMs = nowMs;
    // A step that changes an entry keeps its position in the map.
    for (const [id, { customer, atMs }] of this.#attention) {
      if (this.#isStopped) return;
      if (atMs > nowMs && !wentBack) continue;
      try {
        const watch = watches.find(customer, id);
        if (watch === null) this.#attention.delete(id);
        else if (isBegun(watch)) await this.#advance(watch);
        else if (atMs <= nowMs) await this.#begin(watch, nowMs);
        else if (isStranded(watch, nowMs)) await this.#reschedule(watch, nowMs);
      } catch (error) {
        this.#attention.set(id, { customer, atMs: nowMs + FAILED_WAIT_MS });
        log.error({ watch: id, detail: messageOf(error) }, 'a watch failed; it is tried again in a minute');
      }
    }
  }

  async #begin(watch: Watch, nowMs: number): Promise<void> {
    const { customer, id, runs } = watch;
    const due = dueRun(watch, nowMs);
    if (due === null || watch.isPaused || this.#parts.isSuspended(customer)) return;
    if (due.missed > 0) this.#parts.log.warn({ watch: id, missed: due.missed }, 'due times of a watch were missed');
    const begun = await this.#parts.changes.commit(
      { kind: 'watch.begun', customer, id, run: runs + 1, node: this.#parts.node, ...due },
      { by: 'service', nowMs },
    );
    if (begun.kind === 'ok' && begun.value !== null && begun.value !== 'stale' && isBegun(begun.value))
      await this.#advance(begun.value);
  }

  /** The clock was set back by more than a day. */
  async #reschedule({ customer, id, schedule, anchorMs }: Watch, nowMs: number): Promise<void> {
    const anchor = schedule.kind === 'every' ? Math.min(anchorMs, nowMs) : anchorMs;
    const change = { anchorMs: anchor, dueAtMs: dueAfter(schedule, anchor, nowMs) };
    await this.#parts.changes.commit(
      { kind: 'watch.changed', customer, id, change, resets: false },
      { by: 'service', nowMs },
    );
  }

  async #advance(watch: Began): Promise<void> {
    const { node, job } = watch.running;
    if (node !== this.#parts.node) {
      if (node !== null && this.#parts.isAlive(node)) return;
      if (!(await this.#take(watch, job))) return;
    }
    if (job === null) await this.#start(watch);
    else await this.#follow(watch, job as ExtractionId);
  }

  async #take({ customer, id, running }: Began, job: string | null): Promise<boolean> {
    const { node, changes } = this.#parts;
    // A run taken by this node keeps its name; only the job is added.
    const from = job === running.job ? running.node : node;
    const change = { kind: 'watch.taken', customer, id, run: running.run, from, node, job } as const;
    const taken = await changes.commit(change, { by: 'service', nowMs: this.#parts.nowMs() });
    return taken.kind === 'ok' && taken.value;
  }

  async #start(watch: Began): Promise<void> {
    const { control, request } = this.#parts;
    const { customer, id, running } = watch;
    // A run that was asked for, or had begun, goes on when the suspension is lifted.
    if (this.#parts.isSuspended(customer)) return;
    const checked = checkRequest(watch.extraction, request);
    if (checked.kind === 'problem') return this.#end(watch, failed('not_accepted'));
    const { connector, operation, newSecret: _secret, ...rest } = checked.value;
    const created = await control.create({
      ...rest,
      connector: connector.id,
      operation: operation.name,
      customer,
      requestId: newId('req', this.#parts.nowMs()),
      // A blank stands in no key that a customer can send. The same run after a kill gets the same job.
      idempotency: {
        key: `watch ${id} ${running.run}`,
        bodySha256: new Uint8Array(hash('sha256', JSON.stringify(watch.extraction), 'buffer')),
        newSecret: null,
      },
    });
    switch (created.kind) {
      case 'created':
        return void (await this.#take(watch, created.job.id));
      case 'replay':
        return void (await this.#take(watch, decodeFirst(created.answer).id));
      case 'queue_full':
      case 'fault':
        return;
      case 'unknown_session':
        return this.#end(watch, failed('session_expired'));
      case 'limit_reached':
      case 'conflict':
        return this.#end(watch, failed('not_accepted'));
    }
  }

  async #follow(watch: Began, jobId: ExtractionId): Promise<void> {
    const { control } = this.#parts;
    const job = control.find(watch.customer, jobId);
    if (job === null) return this.#end(watch, failed('job_removed'));
    if (!hasEnded(job)) return;
    if (job.failure !== null) return this.#end(watch, failed(job.failure.reason));
    const compared = await compareRecords(this.#parts, watch, job);
    if (compared !== null) await this.#end(watch, compared);
  }

  async #end({ customer, id, running }: Began, end: WatchEnd): Promise<void> {
    await this.#parts.changes.commit(
      { kind: 'watch.ended', customer, id, run: running.run, end },
      { by: 'service', nowMs: this.#parts.nowMs() },
    );
  }
}

function isBegun(watch: Watch): watch is Began {
  return watch.running !== null;
}

function failed(failure: WatchFailure): WatchEnd {
  return { failure, isComplete: false, notes: [], records: 0 };
}
