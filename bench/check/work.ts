import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { end } from '../webhooks/children.ts';
import { type Build, type WorkOrder, workProgramOf, type WorkReport } from './build.ts';
import { inTurn, interleave, type Subject } from './interleave.ts';
import { ProcessorClock } from './processor-time.ts';
import type { Probe, Stage } from './stage.ts';

/** Single-threaded stages: each build performs them in a process that does nothing else. */

/**
 * Slices before the first measured one, and measured slices. Choice: a slice of about 5 ms, so that the message that orders it costs
 * little beside it.
 */
const WARM_UP_PASSES = 80;
const PASSES = 240;
/** Limits both on a busy machine. Measured: without limits 20 s together beside 16 other runnable processes, and 72 s beside 20. */
const WARM_UP_SECONDS_MAX = 8;
const SECONDS_MAX = 25;
const SMOKE_PASSES = 1;
const SMOKE_UNITS = 32;

const STAGES: readonly Stage[] = [
  {
    id: 'verify',
    title: 'verify',
    unit: 'signature',
    units: 2_048,
    lookAt: 'src/auth/verify.ts, src/auth/signature.ts, src/auth/key-cache.ts',
    isQuick: true,
  },
  {
    id: 'engine',
    title: 'engine',
    unit: 'request',
    units: 192,
    lookAt: 'src/velocity, src/score, src/risk',
    isQuick: true,
  },
];

export const work: Probe = {
  stages: STAGES,
  unavailable: () => null,
  async measure({ isReferenceFirst, isSmoke, wanted, builds }) {
    const processes: WorkProcess[] = [];
    try {
      const start = async (build: Build): Promise<WorkProcess> => {
        const process = new WorkProcess(build, isSmoke);
        processes.push(process);
        await process.ready;
        return process;
      };
      const [ours, reference] = await inTurn(isReferenceFirst, builds, start);
      const subjects = reference === null ? [ours] : [ours, reference];
      // Every kind runs even if only some are wanted: alone in its process, verify takes up to 1.08 times as long (measured), because it is
      // compiled differently.
      const kinds = STAGES.map(({ id }) => id);
      if (!isSmoke) await interleave(subjects, { kinds, passes: WARM_UP_PASSES, secondsMax: WARM_UP_SECONDS_MAX });
      const passes = isSmoke ? SMOKE_PASSES : PASSES;
      const costs = await interleave(subjects, { kinds, passes, secondsMax: SECONDS_MAX });
      const only = (all: (typeof costs)[number] = {}): (typeof costs)[number] =>
        Object.fromEntries(Object.entries(all).filter(([kind]) => wanted.includes(kind)));
      return { ours: only(costs[0]), reference: reference === null ? null : only(costs[1]), echo: null };
    } finally {
      for (const process of processes) await process.close();
    }
  },
};

/** Parent side of a work process. */
class WorkProcess implements Subject {
  readonly kinds = STAGES.map(({ id }) => id);
  /** Resolves when all work is prepared. */
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;
  readonly #clock: ProcessorClock;
  readonly #isSmoke: boolean;

  constructor(build: Build, isSmoke: boolean) {
    this.#isSmoke = isSmoke;
    this.#child = spawn(process.execPath, ['--max-semi-space-size=8', workProgramOf(build)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#clock = new ProcessorClock(this.#child.pid);
    this.ready = this.#report('ready');
  }

  async run(kind: string): Promise<void> {
    const units = this.#isSmoke ? SMOKE_UNITS : (STAGES.find(({ id }) => id === kind)?.units ?? 0);
    const done = this.#report('done');
    this.#child.send({ work: kind, units } satisfies WorkOrder);
    await done;
  }

  readUs(): number {
    return this.#clock.readUs();
  }

  async close(): Promise<void> {
    await end(this.#child);
  }

  async #report(kind: WorkReport['kind']): Promise<void> {
    const ended = new AbortController();
    const onExit = (): void => ended.abort(new Error('the work process ended'));
    this.#child.once('exit', onExit);
    try {
      const [report] = (await once(this.#child, 'message', { signal: ended.signal })) as [WorkReport];
      if (report.kind !== kind) throw new Error(`the work process reported ${report.kind} instead of ${kind}`);
    } finally {
      this.#child.off('exit', onExit);
    }
  }
}
