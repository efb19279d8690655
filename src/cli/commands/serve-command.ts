import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { join } from 'node:path';
import { collectGarbageAlone } from '../../kernel/garbage-collection.ts';
import type { Cli } from '../context.ts';

export function addServe(cli: Cli): void {
  cli.program
    .command('serve')
    .description('run the server')
    .option(
      '--roles <roles>',
      'what this node does: some of decide, api, deliver, extract (default: GATEHOUSE_ROLES, or all)',
    )
    .action(async ({ roles }: { readonly roles?: string }) => {
      // Before the threads: each takes the options that are set when it starts.
      collectGarbageAlone();
      // Keeps compiled code between starts; Node.js 20 lacks it. The first start makes the data directory later, for its owner alone.
      const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
      const { dataDir } = cli.globals();
      if (existsSync(dataDir)) enableCompileCache?.(join(dataDir, 'compile-cache'));
      // Loaded only here: no other command needs the server's modules.
      const { serve } = await import('../../app/serve.ts');
      // An empty option is a fault, an empty setting counts as absent.
      const given = roles === undefined ? {} : { GATEHOUSE_ROLES: roles || ',' };
      await serve({ ...process.env, GATEHOUSE_DATA_DIR: dataDir, ...given });
    });
}
