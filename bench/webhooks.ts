import { helpIfAsked } from '../scripts/usage.ts';
import { runNamed } from './named-benches.ts';
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

await runNamed(BENCHES, async (chosen, words, folder, children) => {
  const options = {
    seconds: words.number('seconds', 10, 1),
    rounds: words.number('rounds', 3, 1),
    endpoints: words.number('endpoints', 1_000, 40),
    rate: words.number('rate', 400, 200),
    deliveries: words.number('deliveries', 50_000, 500),
    folder,
    nodeFlags: words.nodeFlags,
  };
  const receiver = await Receiver.start(children);
  for (const run of chosen) await run(options, children, receiver);
});
