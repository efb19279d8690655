import type { RecordFormat } from '../../contract/vocabulary.ts';

/** The options as parsed by commander. */
export interface ExtractOptions {
  readonly connector: string;
  readonly operation?: string;
  readonly input?: string;
  readonly limit?: string;
  readonly all?: true;
  readonly format: RecordFormat;
  readonly fields?: string;
  readonly out?: string;
}
