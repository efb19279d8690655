import { Option } from 'commander';
import type { RecordFormat } from '../../contract/vocabulary.ts';
import type { Cli } from '../context.ts';
import type { ExtractOptions } from '../extract/options.ts';

const FORMATS: readonly RecordFormat[] = ['ndjson', 'json', 'csv', 'md', 'parquet'];

export function addExtract(cli: Cli): void {
  cli.program
    .command('extract')
    .description('extract records from a site; needs no server, key or store')
    .requiredOption('--connector <id>', 'the connector; `connectors list` lists all')
    .option('--operation <name>', 'the operation, for example page.article; `connectors show <id>` lists all')
    .option('--input <json>', "the operation's input, a JSON object; @file reads it from a file, - from standard input")
    .option('--limit <records>', 'maximum number of records (default: 100)')
    .addOption(new Option('--all', 'all records, at most 1,000,000').conflicts('limit'))
    .addOption(new Option('--format <format>', 'format of the records').choices(FORMATS).default('ndjson'))
    .option('--fields <names>', 'only these fields of each record, for example title,author.name')
    .option('--out <file>', 'write the records to this file (default: standard output)')
    .addHelpText('after', HELP)
    .action((options: ExtractOptions) =>
      cli.run(async () => {
        // The code that fetches and parses is loaded only for this command.
        const { extract } = await import('../extract/run-extract.ts');
        return extract(options, cli.globals().json, cli.io);
      }),
    );
}

const HELP = `
Records are written to standard output as they arrive, the result of the job to standard error. With --out, records are written to the
file, and the result of a successful job to standard output. With --json, standard output is a single JSON object: the result of the
job and, without --out, its records (at most 1,000).
Ctrl-C stops the job; records collected so far are kept.

Example:
  gatehouse extract --connector generic --operation page.article --input '{"url":"https://www.example.com/news/harbour"}'`;
