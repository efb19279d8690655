import type { OutputFormat } from '../../core/extraction.ts';

/** As commander reads them. */
export interface ExtractOptions {
  readonly connector: string;
  readonly operation?: string;
  readonly input?: string;
  readonly limit?: string;
  readonly all?: true;
  readonly format: OutputFormat;
  readonly fields?: string;
  readonly out?: string;
}
