/** A metric of one part of the service, read at each scrape. Each part lists its own. */
export type Reading = { readonly name: string; readonly help: string } & (
  | {
      /** `level` goes up and down, `total` only up. */
      readonly kind: 'level' | 'total';
      readonly read: () => number;
    }
  /** A total for each value of the label. */
  | {
      readonly kind: 'totals';
      readonly label: string;
      readonly read: () => Iterable<readonly [string, number]>;
    }
  /** A total, or a level, for each combination of the labels' values, in the order of the labels. */
  | {
      readonly kind: 'labelled' | 'levels';
      readonly labels: readonly string[];
      readonly read: () => Iterable<{ readonly labels: readonly string[]; readonly count: number }>;
    }
  | { readonly kind: 'histogram'; readonly read: () => Buckets }
);

export interface Buckets {
  readonly bounds: readonly number[];
  /** One more than there are bounds. */
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

export function level(name: string, help: string, read: () => number): Reading {
  return { name, help, kind: 'level', read };
}

export function total(name: string, help: string, read: () => number): Reading {
  return { name, help, kind: 'total', read };
}

export function totals(
  name: string,
  help: string,
  label: string,
  read: () => Iterable<readonly [string, number]>,
): Reading {
  return { name, help, kind: 'totals', label, read };
}

export function histogram(name: string, help: string, read: () => Buckets): Reading {
  return { name, help, kind: 'histogram', read };
}
