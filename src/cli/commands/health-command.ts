import type { Cli } from '../context.ts';
import { failure, ok, type CommandOutcome } from '../command-outcome.ts';
import { ownUrl, readHealth } from '../health-request.ts';

/** For health checks of containers and scripts. Loads nothing that is not needed: it is started every few seconds. */
export function addHealth(cli: Cli): void {
  cli.program
    .command('health')
    .description('ask the server of this machine whether it is ready: exit code 0 or 1, and the state of each layer')
    .option('--url <url>', 'address of the service (default: by GATEHOUSE_HOST, GATEHOUSE_PORT and GATEHOUSE_TLS_CERT)')
    .action(({ url }: { readonly url?: string }) => cli.run(() => showHealth(url ?? ownUrl(cli.io.env))));
}

/** A degraded server is healthy: it decides with less evidence, and a restart would not help. */
async function showHealth(url: string): Promise<CommandOutcome> {
  if (!/^https?:\/\/[^/]/.test(url)) return failure('malformed_url', `${url} is not an http or https URL`);
  const health = await readHealth(url);
  if (health.kind === 'unreachable') return failure('unreachable', `no answer from ${url}: ${health.detail}`);
  const { isHealthy, report } = health;
  const layers = Object.entries(report.layers);
  const text = [
    report.status,
    ...layers.map(([name, { state, detail = '' }]) => `  ${name.padEnd(12)} ${state}${detail && `: ${detail}`}`),
  ].join('\n');
  const states = Object.fromEntries(layers.map(([name, { state }]) => [name, state]));
  return ok({ healthy: isHealthy, status: report.status, version: report.version, layers: states }, text, !isHealthy);
}
