import type { Build } from './build.ts';
import { interleave, type Subject } from './interleave.ts';
import { ProcessorClock } from './processor-time.ts';
import { Rig, type RunningServer, stopServer } from './rig.ts';
import { lapRatio } from './statistics.ts';

/** Choice: two threads that share nothing but memory should cost no more than a tenth and a half. */
export const CELLS_RATIO_MAX = 1.15;

const USUAL = { warmUp: 10_000, requests: 1_000, passes: 24 };
const SMOKE = { warmUp: 64, requests: 64, passes: 1 };
const SECONDS_MAX = 40;

/** Returns the processor time of a decision with two cells, divided by that with one: both servers of this build work in turn. */
export async function measureCells(build: Build, isSmoke: boolean): Promise<number> {
  const { warmUp, requests, passes } = isSmoke ? SMOKE : USUAL;
  const rig = new Rig();
  try {
    await rig.client.begin();
    const two = await rig.startServer(build, 'uws', { cells: 2 });
    const one = await rig.startServer(build, 'uws');
    const prepare = (count: number): Promise<void> => rig.client.prepare([two.keys.plain], count);
    const subjects = [two, one].map((server) => subjectOf(rig, server));
    const turns = { kinds: ['decide'], secondsMax: SECONDS_MAX };
    await interleave(subjects, { ...turns, passes: 1, prepare: () => prepare(warmUp) });
    const costs = await interleave(subjects, { ...turns, passes, prepare: () => prepare(requests) });
    await Promise.all([two, one].map(stopServer));
    const [ofTwo = [], ofOne = []] = costs.map(({ decide = [] }) => decide.map(({ processorUs }) => processorUs));
    return lapRatio(ofTwo, ofOne);
  } finally {
    await rig.close();
  }
}

function subjectOf({ client }: Rig, { origin, child, keys }: RunningServer): Subject {
  const clock = new ProcessorClock(child.pid);
  return {
    kinds: ['decide'],
    readUs: () => clock.readUs(),
    run: () => client.run(origin, keys.plain),
  };
}
