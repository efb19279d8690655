import type { Cli } from '../context.ts';
import { serviceOrigin } from '../api-access.ts';
import { usage } from '../command-outcome.ts';

export function addDoctor(cli: Cli): void {
  cli.program
    .command('doctor')
    .description(
      'check the machine, the settings, the data directory, and what stands before the server; exit code 1 if a check failed',
    )
    .option('--url <url>', 'the address that clients use, to see which source address arrives behind a proxy')
    .action(({ url }: { readonly url?: string }) =>
      cli.run(async () => {
        if (url !== undefined && serviceOrigin(url) === null) {
          return usage('malformed_url', `${url} is not an http or https URL`);
        }
        const { runDoctor } = await import('../doctor/run-doctor.ts');
        return runDoctor({ env: cli.io.env, dataDir: cli.globals().dataDir, publicUrl: url ?? null });
      }),
    );
}
