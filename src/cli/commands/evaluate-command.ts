import type { Cli } from '../context.ts';

interface Words {
  readonly map: readonly string[];
  readonly labels?: string;
  readonly format?: 'csv' | 'ndjson' | 'parquet';
  readonly policy?: string;
  readonly html?: string;
  readonly geo: boolean;
  readonly yes: boolean;
}

export function addEvaluate(cli: Cli): void {
  cli.program
    .command('evaluate <file>')
    .description(
      'decide a history of your own, CSV, NDJSON or Parquet, and report catch, false alarms, rules and people',
    )
    .option('--map <column=field>', 'what a column is; "column=" ignores it; repeatable', collect, [])
    .option('--labels <column>', 'the column that says what was fraud')
    .option('--format <format>', 'csv, ndjson or parquet (default: by the name of the file)')
    .option('--policy <file>', 'a policy file, instead of the default policy')
    .option('--html <file>', 'write the report as one HTML file')
    .option('--no-geo', 'use no location database')
    .option('--yes', 'do not ask about the columns', false)
    .action((file: string, words: Words) =>
      cli.run(async () => {
        const { evaluateFile } = await import('../evaluate/evaluate-file.ts');
        const { dataDir, json } = cli.globals();
        return evaluateFile(file, { ...words, json, dataDir }, cli.io);
      }),
    );
}

function collect(given: string, before: readonly string[]): readonly string[] {
  return [...before, given];
}
