import { Option } from 'commander';
import type { Cli } from '../context.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../export-formats.ts';
import { parseTime } from '../parse-time.ts';
import { withStore } from '../with-store.ts';

interface ExportFlags {
  readonly customer?: string;
  readonly since: number;
  readonly until: number;
  readonly format: ExportFormat;
  readonly kept: boolean;
}

export function addDecisions(cli: Cli): void {
  cli.program
    .command('decisions')
    .description('the decision log')
    .command('export')
    .description('write decisions with their features, labels and outcomes to standard output, in no particular order')
    .option('--customer <id>', 'only this customer, cus_…')
    .option('--since <time>', 'only decisions of this time and later, Unix seconds or a date', parseTime, 0)
    .option('--until <time>', 'only decisions before this time', parseTime, Number.MAX_SAFE_INTEGER)
    .option('--kept', 'also the rows to learn from that outlived their decisions', false)
    .addOption(new Option('--format <format>', 'format of the output').choices(EXPORT_FORMATS).default('ndjson'))
    .action(({ customer, since, until, format, kept }: ExportFlags) =>
      cli.run(async () => {
        const { exportDecisions } = await import('../decision-export.ts');
        const range = { sinceSeconds: since, untilSeconds: until };
        const options = { customerId: customer ?? null, ...range, format, withKept: kept };
        return withStore(cli.globals().dataDir, (store) => exportDecisions(store, options, cli.io.stdout));
      }),
    );
}
