import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchBlocks } from './isolation/blocks.ts';
import { benchFlood } from './isolation/flood.ts';
import { Children } from './webhooks/children.ts';

/**
 * What one customer's management calls cost the decisions of another, on the built server.
 *
 * Arguments: words that choose among blocks and flood; all without one.
 * Options: --seconds N (5) a phase, --rounds N (3), --repeats N (5) of each call, --rate N (300 decisions a second),
 * --node-flags "..." (for the server), --smoke (little of everything, to see that it works).
 */
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
