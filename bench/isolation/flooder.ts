import { Agent } from 'node:http';
import { readFileSync } from 'node:fs';
import { type Call } from './calls.ts';
import { callOnce } from './call-once.ts';

/**
 * Repeats one call at a fixed rate, in a process of its own. Arguments: port, JSON file with key and call, calls per second, concurrent
 * calls, seconds. Prints the number of responses by status.
 */
const [port, file, perSecond, atOnce, seconds] = process.argv.slice(2);
const { key, call } = JSON.parse(readFileSync(file ?? '', 'utf8')) as { readonly key: string; readonly call: Call };
const agent = new Agent({ keepAlive: true, maxSockets: Number(atOnce) });
const counts = new Map<number, number>();
const running = new Set<Promise<void>>();
const startMs = performance.now();
let begun = 0;
for (;;) {
  const nowMs = performance.now() - startMs;
  if (nowMs >= Number(seconds) * 1_000) break;
  const due = Math.floor((nowMs * Number(perSecond)) / 1_000);
  for (; begun < due && running.size < Number(atOnce); begun++) {
    const run = callOnce(Number(port), key, call, agent)
      .then(
        ({ status }) => void counts.set(status, (counts.get(status) ?? 0) + 1),
        () => void counts.set(0, (counts.get(0) ?? 0) + 1),
      )
      .finally(() => running.delete(run));
    running.add(run);
  }
  // Skips calls that could not start in time.
  begun = Math.max(begun, due - Number(atOnce));
  await new Promise((done) => setTimeout(done, 1));
}
agent.destroy();
console.log(JSON.stringify(Object.fromEntries(counts)));
process.exit(0);
