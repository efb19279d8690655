import { Option } from 'commander';
import type { OutputFormat } from '../../core/extraction.ts';
import type { Cli } from '../context.ts';
import type { ExtractOptions } from '../extract/options.ts';

const FORMATS: readonly OutputFormat[] = ['ndjson', 'json', 'csv'];

export function addExtract(cli: Cli): void {
  cli.program
    .command('extract')
    .description('pull records from a site, in this process: no server, no store')
    .requiredOption('--connector <id>', 'what reads the site; `connectors list` tells which there are')
    .option(
      '--operation <name>',
      'what to pull, for example page.article; `connectors show <id>` tells which there are',
    )
    .option('--input <json>', "the operation's input, a JSON object; @file reads it from a file, - from standard input")
    .option('--limit <records>', 'as many records at most (default: 100)')
    .addOption(new Option('--all', 'all records there are, 1,000,000 at most').conflicts('limit'))
    .addOption(new Option('--format <format>', 'of the records').choices(FORMATS).default('ndjson'))
    .option('--fields <names>', 'only these fields of a record, for example title,author.name')
    .option('--out <file>', 'write the records there; standard output unless given')
    .addHelpText('after', HELP)
    .action((options: ExtractOptions) =>
      cli.run(async () => {
        // Everything that fetches and reads is loaded for this command alone.
        const { extract } = await import('../extract/extract.ts');
        return extract(options, cli.globals().json, cli.io);
      }),
    );
}

const HELP = `
Records go to standard output as they come, and what became of the job to standard error; with --out, records go to the file
and what became of a job that succeeded to standard output. With --json standard output has one JSON object instead: what became
of the job and, without --out, its records (1,000 at most).
Ctrl-C ends the job; what was gathered by then is kept.

Example:
  gatehouse extract --connector generic --operation page.article --input '{"url":"https://www.example.com/news/harbour"}'`;
