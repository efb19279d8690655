/**
 * Turns over customers, and over the members of each: whoever had a turn goes behind the others, so that each customer has its turn
 * once before any has it again, however many members it has.
 */
export class FairTurns<T> {
  readonly #customers = new Map<number, Set<T>>();

  add(customer: number, member: T): void {
    const members = this.#customers.get(customer);
    if (members === undefined) this.#customers.set(customer, new Set([member]));
    else members.add(member);
  }

  delete(customer: number, member: T): void {
    const members = this.#customers.get(customer);
    members?.delete(member);
    if (members?.size === 0) this.#customers.delete(customer);
  }

  /** The first in turn that may have one; it stays in. Null when none may. */
  next(mayHave: (member: T) => boolean): T | null {
    for (const [customer, members] of this.#customers) {
      for (const member of members) {
        if (!mayHave(member)) continue;
        members.delete(member);
        members.add(member);
        this.#customers.delete(customer);
        this.#customers.set(customer, members);
        return member;
      }
    }
    return null;
  }
}
