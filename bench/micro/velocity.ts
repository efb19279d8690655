import type { HistoryEvent, HistoryFacts } from '../../src/core/history.ts';
import { LocalVelocity } from '../../src/velocity/local-velocity.ts';
import { createVelocityMemory } from '../../src/velocity/memory.ts';
import { readVelocityStats } from '../../src/velocity/stats.ts';
import { CUSTOMER, fresh, NOW_SECONDS } from './fixtures.ts';
import type { Stage } from './stage.ts';

const HASH_KEY = Buffer.alloc(16, 7);
const MIB = 2 ** 20;
const PER_SAMPLE = 1_024;
/** Subjects that stay in the processor's cache. */
const FEW = 256;
/** An odd number, so that subjects come in an order that no memory foresees. */
const STRIDE = 618_033;

/**
 * One usual event: two entities, a collector's fingerprint, a place; a session, an address and a device of their own for each
 * person. In cache, in a table of the default size with 1,000,000 people, and how many records such a table loses.
 */
export const velocity: Stage = {
  name: 'velocity',
  add(tasks, { smoke }) {
    const people = smoke ? 1_000 : 1_000_000;
    const bytes = smoke ? MIB : 256 * MIB;
    const small = new LocalVelocity(createVelocityMemory(8 * MIB, HASH_KEY));
    const memory = createVelocityMemory(bytes, HASH_KEY);
    const large = new LocalVelocity(memory);
    const notes: string[] = [];
    let second = NOW_SECONDS;
    for (let n = 0; n < people; n++) large.observe([eventOf(n, second, 1, false)]);
    notes.push(noteOf(`${people.toLocaleString('en')} entities, each with a session and an address`));
    let events: HistoryEvent[] = [];
    const run =
      (velocity: LocalVelocity) =>
      (n: number): HistoryFacts | null =>
        velocity.observe([events[n % PER_SAMPLE] as HistoryEvent])[0] ?? null;
    const isSane = (facts: HistoryFacts | null): boolean => facts?.entities.length === 2 && facts.device !== null;
    const prepare = (among: number) => (): void => {
      second++;
      events = Array.from({ length: PER_SAMPLE }, (_, n) =>
        eventOf(((n + second * PER_SAMPLE) * STRIDE) % among, second, 2, true),
      );
    };
    tasks.add('a usual event, in cache', { perSample: PER_SAMPLE, prepare: prepare(FEW), run: run(small), isSane });
    const name = `a usual event, ${people.toLocaleString('en')} people`;
    tasks.add(name, { perSample: PER_SAMPLE, prepare: prepare(people), run: run(large), isSane });
    function noteOf(what: string): string {
      const { used, capacity, made, evicted } = readVelocityStats(memory);
      const figures = `${made.toLocaleString('en')} records made, ${evicted.toLocaleString('en')} living ones thrown out`;
      return `velocity, ${bytes / MIB} MiB, ${what}: ${figures}, ${used.toLocaleString('en')} of ${capacity.toLocaleString('en')} in use`;
    }
    return { notes: () => [...notes, noteOf('and with the bench')] };
  },
};

function eventOf(n: number, nowSeconds: number, entities: number, withDevice: boolean): HistoryEvent {
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
    entities: all.slice(0, entities),
    device: withDevice ? fresh(digits.repeat(8)) : null,
  };
}
