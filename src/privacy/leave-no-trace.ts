import type { CustomerNumber } from '../kernel/brand.ts';
import type { ErasedRows } from '../state/feed/changes.ts';
import type { Store } from '../state/feed/open-store.ts';
import { clearFiller, overwriteFreePages, rewriteRows } from '../state/tables/overwrite-pages.ts';
import { type PersonPlace, TABLES } from '../state/tables/table-names.ts';
import type { Slices } from '../state/tables/turns.ts';

type Environments = Pick<Store, 'state' | 'hot'>;

const FILLERS = { state: 'filler', hot: 'hot-filler' } as const;

/** The places in `state`, whose rows a node may remove for the others. */
const SHARED_PLACES = {
  lists: 'lists',
  namedItems: 'named_lists',
  versions: 'named_lists',
  notes: 'notes',
  audit: 'audit',
} as const satisfies Readonly<Record<keyof ErasedRows, PersonPlace>>;

/** Places from which something was removed whose bytes are still in the files of the store. */
export class Traces {
  readonly #places = new Map<PersonPlace, Set<CustomerNumber>>();

  add(customer: CustomerNumber, places: Iterable<PersonPlace>): void {
    for (const place of places) {
      const customers = this.#places.get(place) ?? new Set();
      this.#places.set(place, customers.add(customer));
    }
  }

  has(place: PersonPlace): boolean {
    return this.#places.has(place);
  }

  /** Adds the places of rows that another node of the cluster has erased. */
  addRows(customer: CustomerNumber, rows: ErasedRows): void {
    const kinds = Object.keys(SHARED_PLACES) as (keyof ErasedRows)[];
    this.add(
      customer,
      kinds.flatMap((kind) => (rows[kind].length > 0 ? SHARED_PLACES[kind] : [])),
    );
  }

  /**
   * Makes what erasers removed disappear from the files of the store, in slices. An environment from which nothing was removed is not
   * written. Throws if the store cannot be written, or if the slices are aborted; the traces then stay, for the next call.
   */
  async remove(store: Environments, slicesOf: (customer: CustomerNumber | null) => Slices): Promise<void> {
    const slices = slicesOf(null);
    for (const environment of ['state', 'hot'] as const) {
      const root = store[environment];
      const tables = TABLES.filter(
        ({ environment: of, person }) => of === environment && this.#places.has(person as PersonPlace),
      );
      if (root === null || tables.length === 0) continue;
      const filler = FILLERS[environment];
      // The memory in which LMDB makes pages is used again too: it must be clean before the rows move.
      const steps = [() => overwriteFreePages(root, filler, slices)];
      for (const { name, person } of tables) {
        // Blocks of the decision log are replaced as a whole.
        if (person === 'decisions') continue;
        for (const customer of this.#places.get(person as PersonPlace) ?? [])
          steps.push(() => rewriteRows(root, name, customer, slicesOf(customer)));
      }
      steps.push(() => overwriteFreePages(root, filler, slices));
      for (const step of steps) {
        const fault = await step();
        if (fault !== null) throw new Error(fault.detail);
      }
    }
    this.#places.clear();
  }
}

/** Gives back the pages that a killed or aborted `remove` left in use, also on a full disk. Throws if the store cannot be written. */
export async function releaseFillers({ state, hot }: Environments, slices: Slices): Promise<void> {
  const cleared = [await clearFiller(state, FILLERS.state, slices)];
  if (hot !== null) cleared.push(await clearFiller(hot, FILLERS.hot, slices));
  for (const written of cleared) if (written.kind === 'fault') throw new Error(written.detail);
}
