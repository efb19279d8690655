interface Entry {
  heardAtMs: number;
  steps: number;
  /** The worker has a step that must run alone, or gets no more steps until it can take that one. */
  isKept: boolean;
}

/** Tracks the running workers and the load of each. */
export class WorkerBook {
  readonly #up = new Map<number, Entry>();

  up(worker: number, nowMs: number): void {
    this.#up.set(worker, { heardAtMs: nowMs, steps: 0, isKept: false });
  }

  down(worker: number): void {
    this.#up.delete(worker);
  }

  heard(worker: number, nowMs: number): void {
    const entry = this.#up.get(worker);
    if (entry !== undefined) entry.heardAtMs = nowMs;
  }

  /** Returns the workers that have steps and have been silent since then. */
  silent(sinceMs: number): readonly number[] {
    return [...this.#up]
      .filter(([, { steps, heardAtMs }]) => steps > 0 && heardAtMs < sinceMs)
      .map(([worker]) => worker);
  }

  hasRoom(): boolean {
    for (const { isKept, steps } of this.#up.values()) if (!isKept || steps === 0) return true;
    return false;
  }

  /** Returns the worker with the fewest steps; null if there is none. */
  choose(): number | null {
    let chosen: number | null = null;
    let least = Infinity;
    for (const [worker, { steps, isKept }] of this.#up) {
      if (isKept || steps >= least) continue;
      chosen = worker;
      least = steps;
    }
    return chosen;
  }

  /** Returns an idle worker for a step that must run alone. If there is none, reserves a worker, so that one becomes idle. */
  chooseAlone(): number | null {
    const kept = [...this.#up].find(([, { isKept }]) => isKept) ?? this.#keepOne();
    return kept !== undefined && kept[1].steps === 0 ? kept[0] : null;
  }

  #keepOne(): [number, Entry] | undefined {
    const worker = this.choose();
    const entry = worker === null ? undefined : this.#up.get(worker);
    if (worker === null || entry === undefined) return undefined;
    entry.isKept = true;
    return [worker, entry];
  }

  leased(worker: number): void {
    const entry = this.#up.get(worker);
    if (entry !== undefined) entry.steps++;
  }

  released(worker: number, wasAlone: boolean): void {
    const entry = this.#up.get(worker);
    if (entry === undefined) return;
    entry.steps--;
    if (wasAlone) entry.isKept = false;
  }
}
