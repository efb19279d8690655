/** A virtual clock with timers, which advances only by calls of `pass`. */
export class VirtualTime {
  nowMs = 1_800_000_000_000;
  #next = 0;
  readonly #timers = new Map<number, { readonly atMs: number; readonly run: () => void }>();

  after(ms: number, run: () => void): () => void {
    const id = this.#next++;
    this.#timers.set(id, { atMs: this.nowMs + ms, run });
    return () => void this.#timers.delete(id);
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Advances the time and runs all timers that become due. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    for (;;) {
      await settle();
      const due = [...this.#timers].filter(([, { atMs }]) => atMs <= untilMs).sort((a, b) => a[1].atMs - b[1].atMs)[0];
      if (due === undefined) break;
      this.#timers.delete(due[0]);
      this.nowMs = Math.max(this.nowMs, due[1].atMs);
      due[1].run();
    }
    this.nowMs = untilMs;
    await settle();
  }
}

/** Lets pending promises continue. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
