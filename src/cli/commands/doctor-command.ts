import type { Cli } from '../context.ts';
import { serviceOrigin } from '../api-access.ts';
import { checkKeyText } from '../../kernel/key-text.ts';
import { usage } from '../command-outcome.ts';

const MALFORMED_KEY = usage('malformed_key', 'that is not a complete secret key: its format or its checksum is wrong');

export function addDoctor(cli: Cli): void {
  cli.program
    .command('doctor')
    .description(
      'check the machine, the settings, the data directory, and what stands before the server; exit code 1 if a check failed',
    )
    .option('--url <url>', 'the address that clients use, to see which source address arrives behind a proxy')
    .option('--key <key>', 'a secret key whose rights to check, at --url or else at the server of this machine')
    .action(({ url, key }: { readonly url?: string; readonly key?: string }) =>
      cli.run(async () => {
        if (key !== undefined && checkKeyText(key) !== 'secret') return MALFORMED_KEY;
        if (url !== undefined && serviceOrigin(url) === null) {
          return usage('malformed_url', `${url} is not an http or https URL`);
        }
        const { runDoctor } = await import('../doctor/run-doctor.ts');
        const { dataDir } = cli.globals();
        return runDoctor({ env: cli.io.env, dataDir, publicUrl: url ?? null, key: key ?? null });
      }),
    );
}
