import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helpIfAsked } from '../scripts/usage.ts';
import { Children } from './webhooks/children.ts';
import { benchDecide } from './webhooks/decide.ts';
import { benchDown } from './webhooks/down.ts';
import { benchIsolation } from './webhooks/isolation.ts';
import { Receiver } from './webhooks/receiver-client.ts';
import { benchThroughput } from './webhooks/throughput.ts';

/**
 * Deliveries of the built server to a receiver in another process, on loopback, bounded in time and count. What is compared is
 * compared in the same run: machines differ and are noisy, ratios hold.
 */
helpIfAsked(`
bench:webhooks [isolation] [throughput] [decide] [down] [options]

  --seconds N         a phase (10)
  --rounds N          (3)
  --endpoints N       (1,000)
  --rate N            deliveries a second (400)
  --deliveries N      in the backlog (50,000)
  --node-flags "..."  for the server, for example --cpu-prof
  --smoke             little of everything, to see that it works`);

const BENCHES = { isolation: benchIsolation, throughput: benchThroughput, decide: benchDecide, down: benchDown };

const smoke = process.argv.includes('--smoke');
const number = (name: string, usual: number, least: number): number => Number(option(name) ?? (smoke ? least : usual));
const chosen = Object.entries(BENCHES).filter(([name]) => process.argv.includes(name));
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const children = new Children();

try {
  const options = {
    seconds: number('seconds', 10, 1),
    rounds: number('rounds', 3, 1),
    endpoints: number('endpoints', 1_000, 40),
    rate: number('rate', 400, 200),
    deliveries: number('deliveries', 50_000, 500),
    folder,
    nodeFlags: (option('node-flags') ?? '').split(' ').filter(Boolean),
  };
  const receiver = await Receiver.start(children);
  for (const [, run] of chosen.length > 0 ? chosen : Object.entries(BENCHES)) await run(options, children, receiver);
} finally {
  await children.endAll();
  rmSync(folder, { recursive: true, force: true });
}

function option(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}
