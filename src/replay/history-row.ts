/** A row of a customer's history: column → value. */
export type HistoryRow = ReadonlyMap<string, unknown>;

/** The names of all columns, before the first row, where the format has them; a row; or the number of the line that is none. */
export type ReadRow =
  | { readonly kind: 'columns'; readonly columns: readonly string[]; readonly leftOut: readonly string[] }
  | { readonly kind: 'row'; readonly row: HistoryRow }
  | { readonly kind: 'fault'; readonly line: number; readonly message: string };
