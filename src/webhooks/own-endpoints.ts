/**
 * Choice: maximum number of extraction payloads that the worker holds, mostly of some 100 KB and of 1 MiB at most; those of decisions are
 * small.
 */
export const OWN_HELD_MAX = 256;

/** Returns whether an endpoint belongs to an extraction job and is not a webhook. */
export function isOwn(endpointId: string): boolean {
  return endpointId.startsWith('ext_');
}

/** Tracks which job endpoints have a payload in the worker, and which wait for a slot. */
export class OwnEndpoints {
  readonly #held = new Set<string>();
  readonly #waiting = new Set<string>();

  /** Returns whether the endpoint has or gets a slot; otherwise queues it. */
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

  /** Releases the endpoint's slot. Returns the next waiting endpoint, or null if none waits. */
  give(endpointId: string): string | null {
    if (!this.#held.delete(endpointId)) return null;
    for (const next of this.#waiting) {
      this.#waiting.delete(next);
      return next;
    }
    return null;
  }

  /** Clears everything after the worker died. Returns the waiting endpoints. */
  clear(): readonly string[] {
    const waiting = [...this.#waiting];
    this.#held.clear();
    this.#waiting.clear();
    return waiting;
  }
}
