import type { CustomerNumber } from '../../kernel/brand.ts';
import { DECISION_SEARCHES_MAX, DECISION_SEARCHES_PER_CUSTOMER_MAX } from '../../kernel/history-limits.ts';

/** Limits how many searches run at once, in total and for each customer. */
export class SearchSlots {
  readonly #searches = new Map<CustomerNumber, number>();
  #searching = 0;

  /** Runs the search; `busy` if the maximum number is running. */
  async run<T>(customer: CustomerNumber, search: () => Promise<T>): Promise<T | { readonly kind: 'busy' }> {
    const own = this.#searches.get(customer) ?? 0;
    if (this.#searching >= DECISION_SEARCHES_MAX || own >= DECISION_SEARCHES_PER_CUSTOMER_MAX) return { kind: 'busy' };
    this.#searching++;
    this.#searches.set(customer, own + 1);
    try {
      return await search();
    } finally {
      this.#searching--;
      const others = (this.#searches.get(customer) ?? 1) - 1;
      if (others === 0) this.#searches.delete(customer);
      else this.#searches.set(customer, others);
    }
  }
}
