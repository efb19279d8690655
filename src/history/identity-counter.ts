/**
 * Counts distinct identities as the rules do: the largest number over the entities' names. One person often has several, such as a user id
 * and an e-mail address.
 */
export class IdentityCounter {
  readonly #byName = new Map<string | number, Set<string>>();

  /** `name`: the entity's name, or the code that stands for it. */
  add(name: string | number, id: string): void {
    const seen = this.#byName.get(name);
    if (seen === undefined) this.#byName.set(name, new Set([id]));
    else seen.add(id);
  }

  get count(): number {
    let largest = 0;
    for (const { size } of this.#byName.values()) largest = Math.max(largest, size);
    return largest;
  }
}
