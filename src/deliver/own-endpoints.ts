/** Choice: payloads of extraction jobs that the worker holds, of some 100 KB mostly and 1 MiB at most; those of decisions are small. */
export const OWN_HELD_MAX = 256;

/** Whether an endpoint is a job's own, and no webhook. */
export function isOwn(endpointId: string): boolean {
  return endpointId.startsWith('ext_');
}

/** Which jobs' own endpoints have a payload with the worker, and which wait until they may. */
export class OwnEndpoints {
  readonly #held = new Set<string>();
  readonly #waiting = new Set<string>();

  /** Whether it may have one there, or has; else it waits its turn. */
  take(endpointId: string): boolean {
    if (this.#held.has(endpointId)) return true;
    if (this.#held.size >= OWN_HELD_MAX) {
      this.#waiting.add(endpointId);
      return false;
    }
    this.#waiting.delete(endpointId);
    this.#held.add(endpointId);
    return true;
  }

  /** It has nothing there any more. Whose turn it is; null for nobody's. */
  give(endpointId: string): string | null {
    if (!this.#held.delete(endpointId)) return null;
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      return next;
    }
    return null;
  }

  /** The worker is gone with all it held. Who waited. */
  clear(): readonly string[] {
    const waiting = [...this.#waiting];
    this.#held.clear();
    this.#waiting.clear();
    return waiting;
  }
}
