/**
 * Turns of those that have something to do: whoever is put in goes to the end, so each has its turn once before any has it
 * again, however much one of them has.
 */
export class FairRing<T> {
  readonly #members = new Set<T>();

  get size(): number {
    return this.#members.size;
  }

  /** Keeps its place where it is in already. */
  add(member: T): void {
    this.#members.add(member);
  }

  delete(member: T): void {
    this.#members.delete(member);
  }

  /** Takes out whose turn it is; null when nobody is in. */
  take(): T | null {
    for (const member of this.#members) {
      this.#members.delete(member);
      return member;
    }
    return null;
  }
}
