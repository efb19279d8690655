import { addApiOptions, type ApiOptions, openApi } from '../api-access.ts';
import type { Cli } from '../context.ts';
import { ok, type CommandOutcome } from '../command-outcome.ts';

export function addExplain(cli: Cli): void {
  addApiOptions(
    cli.program
      .command('explain <request_id>')
      .description('show how the score of a decision came about, and what each rule found'),
  ).action((requestId: string, options: ApiOptions) => cli.run(() => explainOne(cli, requestId, options)));
}

async function explainOne(cli: Cli, requestId: string, options: ApiOptions): Promise<CommandOutcome> {
  const opened = await openApi(cli, options);
  if (opened.kind === 'error') return opened;
  const found = await opened.api.get(`/v1/decisions/${encodeURIComponent(requestId)}`);
  if (found.kind === 'error') return found;
  // Loaded only here: the table of rules is needed for the text alone.
  const { waterfallText } = await import('../decision-waterfall.ts');
  return ok(found.body, waterfallText(found.body));
}
