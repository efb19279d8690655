import { BoundedCache } from '../kernel/bounded-cache.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { TakenAttributeNotes } from '../risk/policy/attribute-notes.ts';
import { ATTRIBUTE_NAMES_NOTED_MAX } from '../risk/policy/attributes.ts';

/** Choice: twice as many customers with names that nothing reads; the others are noted when they send them again after a restart. */
const CUSTOMERS_KEPT = 4_096;
/** Stands for the names beyond the bound. Not the form of a name, so that it is none. */
const OTHERS = '(others)';

/** What the score workers of this node noted of attributes, since its start. */
export class AttributeCounts {
  readonly #mismatches = new Map<string, number>();
  readonly #undeclared = new BoundedCache<CustomerNumber, Set<string>>(CUSTOMERS_KEPT);

  add({ mismatches, undeclared }: TakenAttributeNotes): void {
    for (const [name, count] of mismatches) {
      const isRoom = this.#mismatches.has(name) || this.#mismatches.size < ATTRIBUTE_NAMES_NOTED_MAX;
      const key = isRoom ? name : OTHERS;
      this.#mismatches.set(key, (this.#mismatches.get(key) ?? 0) + count);
    }
    for (const [customer, name] of undeclared) {
      const names = this.#undeclared.get(customer) ?? new Set();
      if (names.size < ATTRIBUTE_NAMES_NOTED_MAX) names.add(name);
      this.#undeclared.set(customer, names);
    }
  }

  /** Declared name → attributes of another type. */
  get mismatches(): ReadonlyMap<string, number> {
    return this.#mismatches;
  }

  /** Names that the customer sent and that were not declared then, sorted. */
  undeclaredOf(customer: CustomerNumber): readonly string[] {
    return [...(this.#undeclared.get(customer) ?? [])].sort();
  }
}
