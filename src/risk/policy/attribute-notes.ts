import type { CustomerNumber } from '../../kernel/brand.ts';
import type { AttributeValue } from '../facts.ts';
import { ATTRIBUTE_NAMES_NOTED_MAX, type AttributeDeclarations, typeOf } from './attributes.ts';

/** What requests had besides what counts, since the notes were taken last. */
export interface TakenAttributeNotes {
  /** Declared name → attributes of another type. */
  readonly mismatches: ReadonlyMap<string, number>;
  /** Names that are not declared and that were not in notes before. */
  readonly undeclared: readonly (readonly [customer: CustomerNumber, name: string])[];
}

/** Choice: a worker that meets more customers with undeclared names notes them again. */
const CUSTOMERS_MAX = 4_096;

/** Notes attributes that do not count, in a score worker. Not those of public keys: any visitor can send them. */
export class AttributeNotes {
  readonly #known = new Map<CustomerNumber, Set<string>>();
  #mismatches = new Map<string, number>();
  #undeclared: (readonly [CustomerNumber, string])[] = [];
  readonly #onFirst: () => void;

  /** `onFirst` is called with the first note after `take`. */
  constructor(onFirst: () => void) {
    this.#onFirst = onFirst;
  }

  note(customer: CustomerNumber, sent: ReadonlyMap<string, AttributeValue>, declarations: AttributeDeclarations): void {
    const wasEmpty = this.#isEmpty;
    for (const [name, value] of sent) {
      const declaration = Object.hasOwn(declarations, name) ? declarations[name] : undefined;
      if (declaration === undefined) this.#noteUndeclared(customer, name);
      else if (declaration.type !== typeOf(value)) this.#mismatches.set(name, (this.#mismatches.get(name) ?? 0) + 1);
    }
    if (wasEmpty && !this.#isEmpty) this.#onFirst();
  }

  /** Returns what is new; null if nothing is. */
  take(): TakenAttributeNotes | null {
    if (this.#isEmpty) return null;
    const taken = { mismatches: this.#mismatches, undeclared: this.#undeclared };
    this.#mismatches = new Map();
    this.#undeclared = [];
    return taken;
  }

  get #isEmpty(): boolean {
    return this.#mismatches.size === 0 && this.#undeclared.length === 0;
  }

  #noteUndeclared(customer: CustomerNumber, name: string): void {
    let known = this.#known.get(customer);
    if (known === undefined) {
      if (this.#known.size >= CUSTOMERS_MAX) this.#known.clear();
      this.#known.set(customer, (known = new Set()));
    }
    if (known.size >= ATTRIBUTE_NAMES_NOTED_MAX || known.has(name)) return;
    known.add(name);
    this.#undeclared.push([customer, name]);
  }
}
