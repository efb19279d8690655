import { randomBytes } from 'node:crypto';
import { EncryptedValues } from '../../src/cluster/store/encrypted-values.ts';
import type { Command, Link } from '../../src/cluster/store/link.ts';
import { ClusterVelocity } from '../../src/cluster/velocity/cluster-velocity.ts';
import { VelocityExchange } from '../../src/cluster/velocity/velocity-exchange.ts';
import { VelocityReader } from '../../src/cluster/velocity/velocity-reader.ts';
import { LocalVelocity } from '../../src/velocity/local-velocity.ts';
import { createVelocityMemory, type VelocityMemory } from '../../src/velocity/memory.ts';
import { StreamMarks } from '../../src/velocity/stream-marks.ts';
import { HASH_KEY } from '../unit/velocity/events.ts';

export const VALUES_KEY = Buffer.alloc(32, 5);

/** One node of a cluster: a table, and workers over it. */
export interface VelocityNode {
  readonly memory: VelocityMemory;
  readonly marks: StreamMarks;
  /** As a score worker or the main thread has it. */
  worker(link?: Link): ClusterVelocity;
  reader(): VelocityReader;
}

export function openVelocityNode(link: Link, memory = createVelocityMemory(2 ** 20, HASH_KEY)): VelocityNode {
  const marks = new StreamMarks(memory.marks);
  marks.begin(randomBytes(8).readBigUInt64LE() | 1n);
  const values = new EncryptedValues(VALUES_KEY);
  const exchangeOver = (own: Link): VelocityExchange => new VelocityExchange({ memory, values, link: own });
  return {
    memory,
    marks,
    worker: (own = link) => new ClusterVelocity(memory, new LocalVelocity(memory), exchangeOver(own)),
    reader: () => new VelocityReader(memory, exchangeOver(link), link),
  };
}

let spaces = 0;

/** Choice: longer than a busy machine stalls. Tests of exact counts must not depend on the deadline of decisions. */
const PATIENT_MS = 5_000;

/** The same store, in a key space that nothing else uses: empty at first. Waits patiently. */
export function emptySpaceOf(link: Link): Link {
  const space = `{space${++spaces}:`;
  const moved = (text: string): string => (text.startsWith('{gh:') ? space + text.slice(1) : text);
  const move = ({ key, args }: Command): Command => ({
    key: moved(key),
    args: args.map((arg) => (typeof arg === 'string' ? moved(arg) : arg)),
  });
  return {
    get isUp() {
      return link.isUp;
    },
    send: (commands) => link.send(commands.map(move), PATIENT_MS),
    close: () => link.close(),
  };
}

/** Polls until it holds; throws after 20 s. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 20_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`timed out waiting for ${what}`);
    await new Promise((done) => setTimeout(done, 5));
  }
}
