/** A Parquet file that cannot be read, with the reason for the operator. */
export class ParquetFault extends Error {}
