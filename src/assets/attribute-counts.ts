import { BoundedCache } from '../kernel/bounded-cache.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { OTHER_NAMES, type TakenAttributeNotes } from '../risk/policy/attribute-notes.ts';
import { ATTRIBUTE_NAMES_NOTED_MAX } from '../risk/policy/attributes.ts';

/** Choice: twice as many customers with names that nothing reads; the others are noted when they send them again after a restart. */
const CUSTOMERS_KEPT = 4_096;

/** What the score workers of this node noted of attributes and members that do not count, since its start. */
export class AttributeCounts {
  readonly #mismatches = new Map<string, number>();
  readonly #ignored = new Map<string, number>();
  readonly #undeclaredNames = new BoundedCache<CustomerNumber, Set<string>>(CUSTOMERS_KEPT);
  readonly #ignoredNames = new BoundedCache<CustomerNumber, Set<string>>(CUSTOMERS_KEPT);

  add({ mismatches, undeclared, ignored, ignoredCounts }: TakenAttributeNotes): void {
    addCounts(this.#mismatches, mismatches);
    addCounts(this.#ignored, ignoredCounts);
    addNames(this.#undeclaredNames, undeclared);
    addNames(this.#ignoredNames, ignored);
  }

  /** Declared name → attributes of another type. */
  get mismatches(): ReadonlyMap<string, number> {
    return this.#mismatches;
  }

  /** Name of the top level that nothing reads → requests with it. */
  get ignored(): ReadonlyMap<string, number> {
    return this.#ignored;
  }

  /** Names of attributes that the customer sent and that were not declared then, sorted. */
  undeclaredOf(customer: CustomerNumber): readonly string[] {
    return [...(this.#undeclaredNames.get(customer) ?? [])].sort();
  }

  /** Names of the top level that the customer sent and that nothing reads, sorted. */
  ignoredOf(customer: CustomerNumber): readonly string[] {
    return [...(this.#ignoredNames.get(customer) ?? [])].sort();
  }
}

function addCounts(counts: Map<string, number>, more: ReadonlyMap<string, number>): void {
  for (const [name, count] of more) {
    const key = counts.has(name) || counts.size < ATTRIBUTE_NAMES_NOTED_MAX ? name : OTHER_NAMES;
    counts.set(key, (counts.get(key) ?? 0) + count);
  }
}

function addNames(names: BoundedCache<CustomerNumber, Set<string>>, more: TakenAttributeNotes['ignored']): void {
  for (const [customer, name] of more) {
    const known = names.get(customer) ?? new Set();
    if (known.size < ATTRIBUTE_NAMES_NOTED_MAX) known.add(name);
    names.set(customer, known);
  }
}
