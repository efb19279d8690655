import type { Claim, QueuedWork } from '../ports/work-queue-port.ts';

/** Choice: a worker that has been silent for a minute counts as stuck, so its work may go to another. */
export const WORK_LEASE_MS = 60_000;

/** The claims of a queue whose consumers are all in this process: a restart forgets them, as it ends the consumers. */
export class WorkLeases<Work extends QueuedWork> {
  readonly leaseMs: number;
  readonly #held = new Map<string, Claim<Work>>();
  /** Work that must not be claimed before a time, by its id. */
  readonly #later = new Map<string, number>();
  #tokens = 0;

  constructor(leaseMs = WORK_LEASE_MS) {
    this.leaseMs = leaseMs;
  }

  /** Returns whether the work can be claimed now. */
  isFree(id: string, nowMs: number): boolean {
    const held = this.#held.get(id);
    return (held === undefined || held.untilMs <= nowMs) && (this.#later.get(id) ?? nowMs) <= nowMs;
  }

  take(work: Work, consumer: string, nowMs: number): Claim<Work> {
    const claim = { work, token: `${consumer}/${++this.#tokens}`, untilMs: nowMs + this.leaseMs };
    this.#held.set(work.id, claim);
    this.#later.delete(work.id);
    return claim;
  }

  /** Returns whether this is the last claim of its work. */
  has({ work, token }: Claim<Work>): boolean {
    return this.#held.get(work.id)?.token === token;
  }

  /** Returns those that are still the last claims of their work, with a new lease. */
  renew(claims: readonly Claim<Work>[], nowMs: number): readonly Claim<Work>[] {
    return claims
      .filter((claim) => this.has(claim))
      .map((claim) => {
        const renewed = { ...claim, untilMs: nowMs + this.leaseMs };
        this.#held.set(claim.work.id, renewed);
        return renewed;
      });
  }

  release(claims: readonly Claim<Work>[]): void {
    for (const claim of claims) if (this.has(claim)) this.#held.delete(claim.work.id);
  }

  /** Ends a claim; its work cannot be claimed before `atMs`. */
  postpone(claim: Claim<Work>, atMs: number): void {
    this.release([claim]);
    this.#later.set(claim.work.id, atMs);
  }
}
