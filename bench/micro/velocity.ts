import type { HistoryEvent, HistoryFacts } from '../../src/risk/history.ts';
import { LocalVelocity } from '../../src/velocity/local-velocity.ts';
import { createVelocityMemory } from '../../src/velocity/memory.ts';
import { readVelocityStats } from '../../src/velocity/stats.ts';
import { CUSTOMER, fresh, NOW_SECONDS } from './fixtures.ts';
import type { Stage } from './stage.ts';

const HASH_KEY = Buffer.alloc(16, 7);
const MIB = 2 ** 20;
const PER_SAMPLE = 1_024;
const BATCH = 16;
/** Number of subjects whose records fit into the processor's cache. */
const FEW = 256;
/** A prime, so that the order of people is unpredictable for the processor's prefetcher. */
const STRIDE = 618_029;

/**
 * A typical event has two entities, a collector's fingerprint, a location and a known session. Each person has a session, an address, two
 * entities and a device, eight records in all. The notes report the number of live records that a table evicts because of people who come
 * only once, each with one entity, a session and an address: four records.
 */
export const velocity: Stage = {
  name: 'velocity',
  add(tasks, { smoke }) {
    const bytes = smoke ? MIB : 256 * MIB;
    const people = smoke ? 500 : 200_000;
    const notes = [300_000, 1_000_000].map((entities) => onceEach(smoke ? entities / 1_000 : entities, bytes));
    const few = worldOf(8 * MIB, FEW);
    const many = worldOf(bytes, people);
    tasks.add('typical event, in cache', { perSample: PER_SAMPLE, ...few });
    tasks.add(`typical event, ${people.toLocaleString('en')} people`, { perSample: PER_SAMPLE, ...many });
    tasks.add(`the same, in batches of ${BATCH}`, { perSample: PER_SAMPLE, ...worldOf(bytes, people, BATCH) });
    return { notes: () => notes };
  },
};

interface World {
  readonly prepare: () => void;
  readonly run: (n: number) => HistoryFacts | null;
  readonly isSane: (facts: HistoryFacts | null) => boolean;
}

/** All people are known and return in turn, some minutes later each time. */
function worldOf(bytes: number, people: number, batch = 1): World {
  const velocity = new LocalVelocity(createVelocityMemory(bytes, HASH_KEY));
  let nowSeconds = NOW_SECONDS;
  for (let n = 0; n < people; n++) velocity.observe([eventOf(n, nowSeconds, 2, true)]);
  let events: HistoryEvent[] = [];
  let serial = 0;
  let last: HistoryFacts | null = null;
  return {
    prepare() {
      nowSeconds += 240;
      events = Array.from({ length: PER_SAMPLE }, () => eventOf((serial++ * STRIDE) % people, nowSeconds, 2, true));
    },
    run(n) {
      const from = n % PER_SAMPLE;
      // One call handles the whole batch; the batch's other operations only return its result.
      if (from % batch === 0) last = velocity.observe(events.slice(from, from + batch))[batch - 1] ?? null;
      return last;
    },
    isSane: (facts) => facts?.session.isFirstEvent === false && facts.entities.length === 2 && facts.device !== null,
  };
}

function onceEach(entities: number, bytes: number): string {
  const memory = createVelocityMemory(bytes, HASH_KEY);
  const velocity = new LocalVelocity(memory);
  for (let n = 0; n < entities; n++) velocity.observe([eventOf(n, NOW_SECONDS, 1, false)]);
  const { used, capacity, made, evicted } = readVelocityStats(memory);
  return `velocity, ${bytes / MIB} MiB, ${figure(entities)} one-time visitors: ${figure(made)} records created, ${figure(evicted)} live ones evicted, ${figure(used)} of ${figure(capacity)} in use`;
}

function figure(value: number): string {
  return value.toLocaleString('en');
}

export function eventOf(n: number, nowSeconds: number, entities: number, withDevice: boolean): HistoryEvent {
  const digits = String(n).padStart(8, '0');
  const host = `${20 + (n >> 22)}.${(n >> 14) & 255}.${(n >> 6) & 255}.${n & 63}`;
  const site = host.slice(0, host.lastIndexOf('.'));
  const all = [
    { name: 'user_id', value: fresh(`user-${digits}`) },
    { name: 'email', value: fresh(`someone.${digits}@example.com`) },
  ];
  return {
    customer: CUSTOMER,
    publicKey: false,
    nowMs: nowSeconds * 1_000,
    eventType: 'login',
    sessionId: fresh(`5f0c4a52-1f1f-4b0f-9c8e-0000${digits}`),
    networks: { host: fresh(host), site: fresh(site), region: fresh(site.slice(0, site.lastIndexOf('.'))) },
    country: 'DE',
    place: { latitude: 52.52, longitude: 13.4, accuracyKm: 20 },
    agent: { browser: 'chromium', system: 'windows' },
    agentHash: 1,
    exactAgentHash: 1,
    agentLanguageHash: 1 + (n % 97),
    mail: null,
    outcome: null,
    entities: all.slice(0, entities),
    device: withDevice ? fresh(digits.repeat(8)) : null,
    browser: null,
    grant: null,
    amount: null,
    counters: [],
  };
}
