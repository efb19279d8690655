import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Children, end } from '../webhooks/children.ts';
import { Receiver } from '../webhooks/receiver-client.ts';
import { seedCustomers, seedDeliveries } from '../webhooks/seed.ts';
import { loadUws } from '../../src/http/load-uws.ts';
import type { Cost } from './closed-loop.ts';
import { ProcessorClock } from './processor-time.ts';
import { type Effort, type Form, type Measured, type Probe, USUAL_TOLERANCE } from './stage.ts';
import { pairSlices } from './statistics.ts';

/**
 * Compares the processor time per delivery of a backlog with that of a bare sender of the same number of deliveries. Skips the first
 * deliveries of each run.
 */

interface Plan {
  readonly slices: number;
  readonly deliveries: number;
  readonly skipped: number;
}

const PLANS: Readonly<Record<Form, Plan>> = {
  smoke: { slices: 1, deliveries: 400, skipped: 20 },
  quick: { slices: 6, deliveries: 10_000, skipped: 2_500 },
  full: { slices: 9, deliveries: 24_000, skipped: 6_000 },
};
const ENDPOINTS = 40;
const WEBHOOKS_EACH = 20;
/** The service's limit of connections per host. */
const CONNECTIONS = 64;
const POLL_MS = 15;
const WAIT_MS_MAX = 60_000;

export const webhooks: Probe = {
  stages: [
    {
      id: 'webhooks',
      title: 'webhooks',
      unit: 'delivery',
      reference: 'bare sender',
      judged: 'processor time',
      lookAt: 'src/webhooks, src/egress, src/state (deliveries)',
      tolerance: USUAL_TOLERANCE,
    },
  ],
  unavailable() {
    const loaded = loadUws();
    return loaded.kind === 'unavailable' ? loaded.detail : null;
  },
  async measure(_wanted: ReadonlySet<string>, { form, times }: Effort): Promise<readonly Measured[]> {
    const plan = PLANS[form];
    const children = new Children();
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-check-'));
    try {
      const receiver = await Receiver.start(children);
      const references = [await runBare(children, receiver, plan)];
      const ours: Cost[] = [];
      for (let n = 0; n < plan.slices * times; n++) {
        ours.push(await runService(children, receiver, plan, folder));
        references.push(await runBare(children, receiver, plan));
      }
      const slicesOf = (of: (cost: Cost) => number): Measured['rounds'] =>
        // Each slice is a separate process.
        pairSlices(ours.map(of), references.map(of)).map((slice) => [slice]);
      return [
        {
          stage: 'webhooks',
          rounds: slicesOf(({ processorUs }) => processorUs),
          wall: slicesOf(({ wallUs }) => wallUs),
        },
      ];
    } finally {
      await children.endAll();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function runBare(children: Children, receiver: Receiver, plan: Plan): Promise<Cost> {
  receiver.order({ kind: 'reset' });
  const words = [receiver.port, plan.deliveries, ENDPOINTS, CONNECTIONS].map(String);
  const sender = children.spawn('bare-sender.js', ...words);
  const cost = await costOf(receiver, sender.pid, plan);
  await end(sender);
  return cost;
}

async function runService(children: Children, receiver: Receiver, plan: Plan, folder: string): Promise<Cost> {
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  const urls = Array.from({ length: ENDPOINTS }, (_, n) => receiver.url(`/hook/${n}`));
  const groups = Array.from({ length: ENDPOINTS / WEBHOOKS_EACH }, (_, n) =>
    urls.slice(n * WEBHOOKS_EACH, (n + 1) * WEBHOOKS_EACH),
  );
  const customers = await seedCustomers(dataDir, groups);
  await seedDeliveries(dataDir, customers, plan.deliveries);
  receiver.order({ kind: 'reset' });
  const { child } = await children.serve(dataDir, [], { GATEHOUSE_GEOIP_PACKAGES: '0' });
  const cost = await costOf(receiver, child.pid, plan);
  await end(child);
  rmSync(dataDir, { recursive: true });
  return cost;
}

/** Measures from the first poll after `skipped` deliveries to the last poll at which at least `CONNECTIONS` deliveries were outstanding. */
async function costOf(receiver: Receiver, pid: number | undefined, { deliveries, skipped }: Plan): Promise<Cost> {
  const clock = new ProcessorClock(pid);
  interface Look {
    readonly count: number;
    readonly us: number;
    readonly atMs: number;
  }
  let first: Look | null = null;
  let last: Look | null = null;
  const untilMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const { count } = await receiver.report();
    const look: Look = { count, us: clock.readUs(), atMs: performance.now() };
    if (first === null && count >= skipped) first = look;
    else if (first !== null && count > first.count && count <= deliveries - CONNECTIONS) last = look;
    if (count >= deliveries) break;
    if (look.atMs > untilMs) throw new Error(`${count} of ${deliveries} arrived`);
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
  if (first === null || last === null) throw new Error('all deliveries arrived between two polls');
  const count = last.count - first.count;
  return { processorUs: (last.us - first.us) / count, wallUs: ((last.atMs - first.atMs) * 1_000) / count };
}
