import { helpIfAsked } from '../scripts/usage.ts';
import { runNamed } from './named-benches.ts';
import { benchBlocks } from './isolation/blocks.ts';
import { benchFlood } from './isolation/flood.ts';

/** Measures how one customer's management calls affect the decisions of another, on the built server. */
helpIfAsked(`
bench:isolation [blocks] [flood] [options]

  --seconds N         duration of a phase (5)
  --rounds N          number of rounds (3)
  --repeats N         repetitions of each call (5)
  --rate N            decisions per second (300)
  --decisions N       decisions of the busy customer (20,000)
  --list-entries N    entries on its list (1,000)
  --only "NAME"       only the calls or floods whose name contains this; several are separated by |
  --node-flags "..."  Node.js flags for the server, for example --cpu-prof
  --smoke             small functional test of everything`);

const BENCHES = { blocks: benchBlocks, flood: benchFlood };

await runNamed(BENCHES, async (chosen, words, folder, children) => {
  const options = {
    seconds: words.number('seconds', 5, 1),
    rounds: words.number('rounds', 3, 1),
    repeats: words.number('repeats', 5, 1),
    rate: words.number('rate', 300, 100),
    decisions: words.number('decisions', 20_000, 100),
    listEntries: words.number('list-entries', 1_000, 1_000),
    only: words.text('only') ?? '',
    folder,
    isSmoke: words.isSmoke,
    nodeFlags: words.nodeFlags,
  };
  for (const run of chosen) await run(options, children);
});
