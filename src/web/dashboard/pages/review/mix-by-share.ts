/** Rows of one kind, in their order. */
export interface SharedRows<Row> {
  readonly rows: readonly Row[];
  /** Above 0; relative to that of the others. */
  readonly share: number;
  /** Further rows can be loaded. */
  readonly hasMore: boolean;
}

/**
 * Mixes lists so that every beginning of the result has each by its share. A list that is at its end leaves its share to the others; where
 * one has more to load, the result ends until that is here.
 */
export function mixByShare<Row>(lists: readonly SharedRows<Row>[]): Row[] {
  const mixed: Row[] = [];
  const turns = lists.map((list) => ({ ...list, taken: 0 }));
  for (;;) {
    const open = turns.filter(({ taken, rows, hasMore }) => taken < rows.length || hasMore);
    const [first, ...others] = open;
    if (first === undefined) return mixed;
    const due = others.reduce((a, b) => ((b.taken + 1) / b.share < (a.taken + 1) / a.share ? b : a), first);
    const row = due.rows[due.taken++];
    if (row === undefined) return mixed;
    mixed.push(row);
  }
}
