import { helpIfAsked } from '../scripts/usage.ts';
import { runNamed } from './named-benches.ts';
import { benchDecide } from './webhooks/decide.ts';
import { benchDown } from './webhooks/down.ts';
import { benchIsolation } from './webhooks/isolation.ts';
import { Receiver } from './webhooks/receiver-client.ts';
import { benchThroughput } from './webhooks/throughput.ts';

/**
 * Measures deliveries of the built server to a receiver in another process, on loopback, bounded in time and in the number of deliveries.
 * Comparisons are always made within one run: machines differ and are noisy, but ratios are stable.
 */
helpIfAsked(`
bench:webhooks [isolation] [throughput] [decide] [down] [options]

  --seconds N         duration of a phase (10)
  --rounds N          number of rounds (3)
  --endpoints N       number of endpoints (1,000)
  --rate N            deliveries per second (400)
  --deliveries N      deliveries in the backlog (50,000)
  --node-flags "..."  Node.js flags for the server, for example --cpu-prof
  --smoke             small functional test of everything`);

const BENCHES = { isolation: benchIsolation, throughput: benchThroughput, decide: benchDecide, down: benchDown };

await runNamed(BENCHES, async (chosen, words, folder, children) => {
  const options = {
    seconds: words.number('seconds', 10, 1),
    rounds: words.number('rounds', 3, 1),
    endpoints: words.number('endpoints', 1_000, 40),
    rate: words.number('rate', 400, 200),
    deliveries: words.number('deliveries', 50_000, 500),
    folder,
    isSmoke: words.isSmoke,
    nodeFlags: words.nodeFlags,
  };
  const receiver = await Receiver.start(children);
  for (const run of chosen) await run(options, children, receiver);
});
