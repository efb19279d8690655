/** Formats of `decisions export`. Apart from the writers, because those are loaded only when they are used. */
export const EXPORT_FORMATS = ['ndjson', 'csv', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];
