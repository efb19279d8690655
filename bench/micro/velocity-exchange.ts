import { EncryptedValues } from '../../src/cluster/store/encrypted-values.ts';
import { velocityKey } from '../../src/cluster/store/store-keys.ts';
import { decodeItems, EventEncoder, type SharedItem } from '../../src/cluster/velocity/event-codec.ts';
import { ForeignEvents } from '../../src/cluster/velocity/foreign-events.ts';
import { createVelocityMemory } from '../../src/velocity/memory.ts';
import { StreamMarks } from '../../src/velocity/stream-marks.ts';
import { CUSTOMER, NOW_SECONDS } from './fixtures.ts';
import type { Stage } from './stage.ts';
import { eventOf } from './velocity.ts';

const MIB = 2 ** 20;
const BATCH = 16;
const PER_SAMPLE = 64;
const STREAM = CUSTOMER;

/**
 * What nodes of a cluster do for each batch beside counting it: the sender encodes and encrypts it, every other node decrypts, decodes and
 * counts it. Without the store and the way to it. Compare with the stage `velocity`, times 16.
 */
export const velocityExchange: Stage = {
  name: 'velocity exchange',
  add(tasks, { smoke }) {
    const people = smoke ? 500 : 50_000;
    const memory = createVelocityMemory(64 * MIB, Buffer.alloc(16, 7));
    const foreign = new ForeignEvents(memory);
    const marks = new StreamMarks(memory.marks);
    const values = new EncryptedValues(Buffer.alloc(32, 1));
    const encoder = new EventEncoder();
    const batchOf = (n: number): SharedItem[] =>
      Array.from({ length: BATCH }, (_none, at) => eventOf((n * BATCH + at) % people, NOW_SECONDS, 2, true));
    const seal = (batch: readonly SharedItem[]): Buffer => values.encrypt(velocityKey(STREAM), encoder.encode(batch));
    const open = (sealed: Buffer): readonly SharedItem[] =>
      decodeItems(values.decrypt(velocityKey(STREAM), sealed) ?? Buffer.alloc(0)) ?? [];
    const batches = Array.from({ length: PER_SAMPLE }, (_none, n) => batchOf(n));
    const sealed = batches.map(seal);
    const [first] = sealed;
    tasks.add(`encode and encrypt a batch of ${BATCH}`, {
      perSample: PER_SAMPLE,
      run: (n) => seal(batches[n % PER_SAMPLE] ?? []),
      isSane: (bytes) => bytes.length > 100,
    });
    tasks.add(`decrypt and decode a batch of ${BATCH}`, {
      perSample: PER_SAMPLE,
      run: (n) => open(sealed[n % PER_SAMPLE] ?? Buffer.alloc(0)),
      isSane: (items) => items.length === BATCH,
    });
    tasks.add(`the same, and count it at another node`, {
      perSample: PER_SAMPLE,
      run(n) {
        foreign.apply(STREAM, open(sealed[n % PER_SAMPLE] ?? Buffer.alloc(0)));
        return marks.count('applied');
      },
      isSane: (applied) => applied > 0,
    });
    const notes = [
      `velocity exchange: ${Math.round((first?.length ?? 0) / BATCH)} bytes an event in batches of ${BATCH}`,
    ];
    return { notes: () => notes };
  },
};
