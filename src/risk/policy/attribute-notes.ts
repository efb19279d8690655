import type { CustomerNumber } from '../../kernel/brand.ts';
import type { AttributeValue } from '../facts.ts';
import { ATTRIBUTE_NAMES_NOTED_MAX, type AttributeDeclarations, typeOf } from './attributes.ts';

type NamesOfCustomers = readonly (readonly [customer: CustomerNumber, name: string])[];

/** What requests had besides what counts, since the notes were taken last. */
export interface TakenAttributeNotes {
  /** Declared name → attributes of another type. */
  readonly mismatches: ReadonlyMap<string, number>;
  /** Names that are not declared and that were not in notes before. */
  readonly undeclared: NamesOfCustomers;
  /** Names of the top level that nothing reads and that were not in notes before. */
  readonly ignored: NamesOfCustomers;
  /** Name of the top level that nothing reads → requests with it. */
  readonly ignoredCounts: ReadonlyMap<string, number>;
}

/** Choice: a worker that meets more customers with unknown names notes them again. */
const CUSTOMERS_MAX = 4_096;
/** Choice: other names are no typing errors, and the label of a metric must not hold what somebody sends. */
const MEMBER_NAME = /^[\w.-]{1,64}$/;
/** Stands for the names beyond the bounds. Not the form of a name, so that it is none. */
export const OTHER_NAMES = '(others)';

/** Notes attributes and members that do not count, in a score worker. Not those of public keys: any visitor can send them. */
export class AttributeNotes {
  readonly #knownAttributes = new KnownNames();
  readonly #knownMembers = new KnownNames();
  #mismatches = new Map<string, number>();
  #undeclared: (readonly [CustomerNumber, string])[] = [];
  #ignored: (readonly [CustomerNumber, string])[] = [];
  #ignoredCounts = new Map<string, number>();
  readonly #onFirst: () => void;

  /** `onFirst` is called with the first note after `take`. */
  constructor(onFirst: () => void) {
    this.#onFirst = onFirst;
  }

  note(customer: CustomerNumber, sent: ReadonlyMap<string, AttributeValue>, declarations: AttributeDeclarations): void {
    const wasEmpty = this.#isEmpty;
    for (const [name, value] of sent) {
      const declaration = Object.hasOwn(declarations, name) ? declarations[name] : undefined;
      if (declaration === undefined) {
        if (this.#knownAttributes.add(customer, name)) this.#undeclared.push([customer, name]);
      } else if (declaration.type !== typeOf(value)) count(this.#mismatches, name);
    }
    if (wasEmpty && !this.#isEmpty) this.#onFirst();
  }

  /** Notes names of the top level that nothing reads. */
  noteIgnored(customer: CustomerNumber, names: readonly string[]): void {
    const wasEmpty = this.#isEmpty;
    for (const name of names) {
      const isName = MEMBER_NAME.test(name);
      count(this.#ignoredCounts, isName ? name : OTHER_NAMES);
      if (isName && this.#knownMembers.add(customer, name)) this.#ignored.push([customer, name]);
    }
    if (wasEmpty) this.#onFirst();
  }

  /** Returns what is new; null if nothing is. */
  take(): TakenAttributeNotes | null {
    if (this.#isEmpty) return null;
    const taken = {
      mismatches: this.#mismatches,
      undeclared: this.#undeclared,
      ignored: this.#ignored,
      ignoredCounts: this.#ignoredCounts,
    };
    this.#mismatches = new Map();
    this.#undeclared = [];
    this.#ignored = [];
    this.#ignoredCounts = new Map();
    return taken;
  }

  get #isEmpty(): boolean {
    return this.#mismatches.size === 0 && this.#undeclared.length === 0 && this.#ignoredCounts.size === 0;
  }
}

/** The names that were noted of each customer. */
class KnownNames {
  readonly #known = new Map<CustomerNumber, Set<string>>();

  /** Returns whether the name is new, and one of the first of its customer. */
  add(customer: CustomerNumber, name: string): boolean {
    let known = this.#known.get(customer);
    if (known === undefined) {
      if (this.#known.size >= CUSTOMERS_MAX) this.#known.clear();
      this.#known.set(customer, (known = new Set()));
    }
    if (known.size >= ATTRIBUTE_NAMES_NOTED_MAX || known.has(name)) return false;
    known.add(name);
    return true;
  }
}

/** Counts names beyond the bound together. */
function count(counts: Map<string, number>, name: string): void {
  const key = counts.has(name) || counts.size < ATTRIBUTE_NAMES_NOTED_MAX ? name : OTHER_NAMES;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
