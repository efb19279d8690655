/** Options of the extraction benches. */
export interface BenchOptions {
  /** Number of pages of the site. */
  readonly pages: number;
  readonly rounds: number;
  /** Concurrent requests. */
  readonly concurrency: number;
  /** Paragraphs per page. */
  readonly paragraphs: number;
  /** Number of records of the job that is paged through. */
  readonly records: number;
  /** Skips the comparison with Crawlee. */
  readonly isAlone: boolean;
  readonly crawleeFolder: string;
  /** Passed to the server's Node.js, for example --cpu-prof. */
  readonly nodeFlags: readonly string[];
  /** Parent of the data directories; removed at the end. */
  readonly folder: string;
}
