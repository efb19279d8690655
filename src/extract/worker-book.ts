interface Entry {
  heardAtMs: number;
  steps: number;
  /** It has a step that must have it to itself, or is given nothing more until it may have that one. */
  isKept: boolean;
}

/** Which workers are there, and how much each has. */
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

  /** Those that have something to do and said nothing since. */
  silent(sinceMs: number): readonly number[] {
    return [...this.#up]
      .filter(([, { steps, heardAtMs }]) => steps > 0 && heardAtMs < sinceMs)
      .map(([worker]) => worker);
  }

  hasRoom(): boolean {
    for (const { isKept, steps } of this.#up.values()) if (!isKept || steps === 0) return true;
    return false;
  }

  /** The one that has least; null where there is none. */
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

  /** For a step that must be alone: one that has nothing. Where there is none, one is kept free, so that there will be. */
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
