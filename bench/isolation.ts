import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helpIfAsked } from '../scripts/usage.ts';
import { benchBlocks } from './isolation/blocks.ts';
import { benchFlood } from './isolation/flood.ts';
import { Children } from './webhooks/children.ts';

/**
 * What one customer's management calls cost the decisions of another, on the built server.
 */
helpIfAsked(`
bench:isolation [blocks] [flood] [options]

  --seconds N         a phase (5)
  --rounds N          (3)
  --repeats N         of each call (5)
  --rate N            decisions a second (300)
  --node-flags "..."  for the server, for example --cpu-prof
  --smoke             little of everything, to see that it works`);

const BENCHES = { blocks: benchBlocks, flood: benchFlood };

const smoke = process.argv.includes('--smoke');
const number = (name: string, usual: number, least: number): number => Number(option(name) ?? (smoke ? least : usual));
const chosen = Object.entries(BENCHES).filter(([name]) => process.argv.includes(name));
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const children = new Children();

try {
  const options = {
    seconds: number('seconds', 5, 1),
    rounds: number('rounds', 3, 1),
    repeats: number('repeats', 5, 1),
    rate: number('rate', 300, 100),
    folder,
    nodeFlags: (option('node-flags') ?? '').split(' ').filter(Boolean),
  };
  for (const [, run] of chosen.length > 0 ? chosen : Object.entries(BENCHES)) await run(options, children);
} finally {
  await children.endAll();
  rmSync(folder, { recursive: true, force: true });
}

function option(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}
