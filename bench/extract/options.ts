/** What the benches of extraction are told. */
export interface BenchOptions {
  /** Of the site. */
  readonly pages: number;
  readonly rounds: number;
  /** Requests at the same time. */
  readonly concurrency: number;
  /** Of each page. */
  readonly paragraphs: number;
  /** Of the job that is paged through. */
  readonly records: number;
  /** Nothing to compare with is run. */
  readonly isAlone: boolean;
  readonly crawleeFolder: string;
  /** For the server, for example --cpu-prof. */
  readonly nodeFlags: readonly string[];
  /** For data directories; removed in the end. */
  readonly folder: string;
}
