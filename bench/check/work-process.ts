import { LocalVelocity } from '../../src/velocity/local-velocity.ts';
import { createVelocityMemory, touchPages } from '../../src/velocity/memory.ts';
import type { Velocity } from '../../src/ports/velocity.ts';
import { KeyCache } from '../../src/auth/key-cache.ts';
import { verifyRequest } from '../../src/auth/verify.ts';
import { BATCH_REQUESTS_MAX } from '../../src/kernel/limits.ts';
import { framesFor, isAnswered, type OpenEngine, openEngine } from '../micro/engine.ts';
import { CUSTOMER, NOW_SECONDS, trafficBodies } from '../micro/fixtures.ts';
import { keyText, storedKey } from '../micro/keys.ts';
import { Ring } from '../micro/stage.ts';
import { clock, signed } from '../micro/verify.ts';
import type { WorkOrder, WorkReport } from './build.ts';

/**
 * Performs the work of the single-threaded stages on order, in a process that does nothing else, so that its processor time is theirs.
 * Part of the interface between the check and a build: see build.ts.
 */

/** Work of one stage. The number of units per order is fixed, so that the state is the same in every run, regardless of the machine. */
interface Work {
  run(units: number): void | Promise<void>;
}

const VELOCITY_BYTES = 64 * 1_048_576;
const STORE_ENTRIES = 10_000;
const BODIES = 8_192;
/** Speed of the traffic's virtual clock. */
const REQUESTS_PER_MS = 20;

const engines: OpenEngine[] = [];
const works: Readonly<Record<string, Work>> = {
  verify: openVerify(),
  engine: await openScoring(await openVelocity()),
};

const tell = (report: WorkReport): void => {
  process.send?.(report);
};
process.on('message', ({ work, units }: WorkOrder) => {
  void perform(work, units).then(() => tell({ kind: 'done' }));
});
process.on('SIGTERM', () => {
  void Promise.all(engines.map(({ close }) => close())).then(() => process.exit());
});
process.on('disconnect', () => process.exit());
tell({ kind: 'ready' });

async function perform(name: string, units: number): Promise<void> {
  const work = works[name];
  if (work === undefined) throw new Error(`no such work: ${name}`);
  await work.run(units);
}

function openVerify(): Work {
  const secret = keyText('sk', 1);
  const keyCache = new KeyCache();
  keyCache.load([storedKey(secret, 1)]);
  const requests = new Ring(trafficBodies(64).map((body, n) => signed(body, secret, n)));
  let serial = 0;
  return {
    run(units) {
      for (const end = serial + units; serial < end; serial++) {
        const { head, body } = requests.at(serial);
        if (verifyRequest(head, body, keyCache, clock).kind !== 'verified')
          throw new Error('a valid signature was rejected');
      }
    },
  };
}

async function openScoring(velocity: Velocity): Promise<Work> {
  const engine = await openEngine(STORE_ENTRIES, velocity);
  engines.push(engine);
  const { scorer, begin } = engine;
  const bodies = new Ring(trafficBodies(BODIES));
  const frames = framesFor(BATCH_REQUESTS_MAX);
  let serial = 0;
  return {
    async run(units) {
      for (const end = serial + units; serial < end;)
        for (const { writer, reader, answers, count } of frames) {
          writer.reset();
          for (let n = 0; n < count; n++, serial++)
            writer.add(bodies.at(serial), CUSTOMER, 0, NOW_SECONDS * 1_000 + serial / REQUESTS_PER_MS);
          begin();
          await scorer.scoreBatch(reader, answers, 0, count);
        }
      if (!frames.every(isAnswered)) throw new Error('a request got no response');
    },
  };
}

async function openVelocity(): Promise<Velocity> {
  const memory = createVelocityMemory(VELOCITY_BYTES, Buffer.alloc(16, 7));
  await touchPages(memory, () => true);
  return new LocalVelocity(memory);
}
