import { helpIfAsked } from '../scripts/usage.ts';
import { runNamed } from './named-benches.ts';
import { benchBlocks } from './isolation/blocks.ts';
import { benchFlood } from './isolation/flood.ts';

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

await runNamed(BENCHES, async (chosen, words, folder, children) => {
  const options = {
    seconds: words.number('seconds', 5, 1),
    rounds: words.number('rounds', 3, 1),
    repeats: words.number('repeats', 5, 1),
    rate: words.number('rate', 300, 100),
    folder,
    nodeFlags: words.nodeFlags,
  };
  for (const run of chosen) await run(options, children);
});
