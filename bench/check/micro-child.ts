import { LocalVelocity } from '../../src/velocity/local-velocity.ts';
import { createVelocityMemory, touchPages } from '../../src/velocity/memory.ts';
import type { Velocity } from '../../src/ports/velocity.ts';
import { KeyCache } from '../../src/auth/key-cache.ts';
import { verifyRequest } from '../../src/auth/verify.ts';
import { BATCH_REQUESTS_MAX } from '../../src/kernel/limits.ts';
import { framesFor, isAnswered, openEngine } from '../micro/engine.ts';
import { CUSTOMER, NOW_SECONDS, trafficBodies } from '../micro/fixtures.ts';
import { keyText, storedKey } from '../micro/keys.ts';
import { Ring } from '../micro/stage.ts';
import { clock, signed } from '../micro/verify.ts';
import { hashingKernel, scoringKernel, type Kernel } from './kernel.ts';
import type { MicroPlan, MicroSlices } from './micro.ts';

/**
 * Measures one round of the single-threaded stages: alternates slices of a stage and of its kernel, in a process that does nothing else, so
 * that its processor time is theirs. Argument: a `MicroPlan`. Prints one line of JSON per stage.
 */

/** Work of one stage. The number of units per slice is fixed, so that the state is the same in every run, regardless of the machine. */
interface Work {
  run(units: number): void | Promise<void>;
  close?(): Promise<void>;
}

const VELOCITY_BYTES = 64 * 1_048_576;
const STORE_ENTRIES = 10_000;
const BODIES = 8_192;
/** Speed of the traffic's virtual clock. */
const REQUESTS_PER_MS = 20;

/** A velocity store without any history. */
const NO_MEMORY: Velocity = { observe: (events) => events.map(() => null) };

const OPEN: Readonly<Record<string, { open: () => Work | Promise<Work>; kernel: () => Kernel }>> = {
  verify: { open: openVerify, kernel: hashingKernel },
  engine: { open: () => openScoring(true), kernel: scoringKernel },
  'engine-no-memory': { open: () => openScoring(false), kernel: scoringKernel },
};

const plan = JSON.parse(process.argv[2] ?? '{}') as MicroPlan;
for (const { stage, units, kernelUnits } of plan.stages) {
  const how = OPEN[stage];
  if (how === undefined) throw new Error(`no such stage: ${stage}`);
  const work = await how.open();
  const kernel = how.kernel();
  let ran = 0;
  const reference = (): void => {
    for (const end = ran + kernelUnits; ran < end; ran++) kernel.run(ran);
  };
  for (let n = 0; n < plan.warmUpSlices; n++) {
    await work.run(units);
    reference();
  }
  const slices: { [name in keyof MicroSlices]: number[] } = {
    ours: [],
    references: [],
    oursWall: [],
    referencesWall: [],
  };
  await take(reference, kernelUnits, slices.references, slices.referencesWall);
  for (let n = 0; n < plan.slices; n++) {
    await take(() => work.run(units), units, slices.ours, slices.oursWall);
    await take(reference, kernelUnits, slices.references, slices.referencesWall);
  }
  await work.close?.();
  console.log(JSON.stringify({ stage, slices }));
}

/** Times one slice: µs of processor time and of wall time per unit. */
async function take(run: () => void | Promise<void>, count: number, us: number[], wallUs: number[]): Promise<void> {
  const fromMs = performance.now();
  const from = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(from);
  wallUs.push(((performance.now() - fromMs) * 1_000) / count);
  us.push((user + system) / count);
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

async function openScoring(withMemory: boolean): Promise<Work> {
  const { scorer, begin, close } = await openEngine(STORE_ENTRIES, withMemory ? await openVelocity() : NO_MEMORY);
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
    close,
  };
}

async function openVelocity(): Promise<Velocity> {
  const memory = createVelocityMemory(VELOCITY_BYTES, Buffer.alloc(16, 7));
  await touchPages(memory, () => true);
  return new LocalVelocity(memory);
}
