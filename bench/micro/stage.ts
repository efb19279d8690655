import { Bench, type FnReturnedObject } from 'tinybench';

/** One stage of the service, measured in isolation. */
export interface Stage {
  readonly name: string;
  /** Minimum number of samples per task, default 16. A stage with long samples requests fewer. */
  readonly samplesMin?: number;
  /** Adds its tasks. Setting up tables, files and workers here is not measured. */
  add(tasks: Tasks, options: StageOptions): StageEnd | Promise<StageEnd>;
}

export interface StageOptions {
  /** Runs a few samples over small data: shows that every task works, and measures nothing. */
  readonly smoke: boolean;
}

export interface StageEnd {
  /** Findings of the stage other than times. Called after its tasks have run. */
  readonly notes?: () => readonly string[];
  readonly close?: () => void | Promise<void>;
}

interface Operation {
  /**
   * Number of operations timed together, because the clock's own cost and resolution exceed many of them. Must be a power of two for use
   * with rings.
   */
  readonly perSample: number;
  /** Runs before each sample, untimed: prepares what its operations consume. */
  readonly prepare?: () => void;
}

export interface SyncOperation<T> extends Operation {
  /** `n` increases over all samples. */
  run(n: number): T;
  /** Whether the sample's last result is the expected one: a bench that measures an error path fails. Untimed. */
  isSane(last: T): boolean;
}

export interface AsyncOperation<T> extends Operation {
  /** Performs all operations of a sample. */
  run(): Promise<T>;
  isSane(result: T): boolean;
}

export interface Row {
  readonly stage: string;
  readonly task: string;
  /** Mean of all samples, ns per operation. */
  readonly meanNs: number;
  /** Median of the samples; a sample is itself the mean of `perSample` operations. More meaningful than the mean on a shared machine. */
  readonly medianNs: number;
  readonly p99Ns: number;
  readonly samples: number;
  readonly perSample: number;
}

export interface StageResult {
  readonly rows: readonly Row[];
  readonly notes: readonly string[];
}

const TASK_MS = 250;
const WARM_UP_MS = 80;
const SAMPLES_MIN = 16;
const SMOKE_SAMPLES = 2;

/** Runs one stage. Rejects when a task throws or returns an unexpected result. */
export async function runStage(stage: Stage, options: StageOptions): Promise<StageResult> {
  const samplesMin = options.smoke ? SMOKE_SAMPLES : (stage.samplesMin ?? SAMPLES_MIN);
  const tasks = new Tasks(
    new Bench({
      time: options.smoke ? 0 : TASK_MS,
      iterations: samplesMin,
      warmupTime: options.smoke ? 0 : WARM_UP_MS,
      warmupIterations: Math.ceil(samplesMin / 4),
      throws: true,
    }),
  );
  const end = await stage.add(tasks, options);
  try {
    const rows = await tasks.run(stage.name);
    return { rows, notes: end.notes?.() ?? [] };
  } finally {
    await end.close?.();
  }
}

/** Tasks of one stage, based on tinybench: tinybench takes the samples, and each sample here consists of many operations. */
export class Tasks {
  readonly #bench: Bench;
  readonly #perSample = new Map<string, number>();

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  add<T>(name: string, operation: SyncOperation<T>): void {
    const { perSample } = operation;
    let n = 0;
    this.#perSample.set(name, perSample);
    this.#bench.add(
      name,
      () => {
        const beganAtMs = performance.now();
        operation.prepare?.();
        const end = n + perSample;
        const startedAtMs = performance.now();
        let last = operation.run(n++);
        while (n < end) last = operation.run(n++);
        const endedAtMs = performance.now();
        if (!operation.isSane(last)) throw new Error(`${name}: unexpected result`);
        return sampleOf(beganAtMs, startedAtMs, endedAtMs, perSample);
      },
      { async: false },
    );
  }

  addAsync<T>(name: string, operation: AsyncOperation<T>): void {
    const { perSample } = operation;
    this.#perSample.set(name, perSample);
    this.#bench.add(
      name,
      async () => {
        const beganAtMs = performance.now();
        operation.prepare?.();
        const startedAtMs = performance.now();
        const result = await operation.run();
        const endedAtMs = performance.now();
        if (!operation.isSane(result)) throw new Error(`${name}: unexpected result`);
        return sampleOf(beganAtMs, startedAtMs, endedAtMs, perSample);
      },
      { async: true },
    );
  }

  async run(stage: string): Promise<Row[]> {
    const rows: Row[] = [];
    // Does not use `bench.run()`, which warms up all tasks before the first one runs: one task must not profit from caches that another has
    // filled.
    for (const task of this.#bench.tasks) {
      await task.warmup();
      const { name, result } = await task.run();
      if (result.state !== 'completed') throw new Error(`${stage}, ${name}: ${result.state}`);
      const { latency } = result;
      rows.push({
        stage,
        task: name,
        meanNs: latency.mean * 1e6,
        medianNs: latency.p50 * 1e6,
        p99Ns: latency.p99 * 1e6,
        samples: latency.samplesCount,
        perSample: this.#perSample.get(name) ?? 1,
      });
    }
    return rows;
  }
}

/** Reports the mean of the sample's operations; the sample's total duration counts towards the task's time limit. */
function sampleOf(beganAtMs: number, startedAtMs: number, endedAtMs: number, perSample: number): FnReturnedObject {
  return {
    overriddenDuration: (endedAtMs - startedAtMs) / perSample,
    overriddenIterationCost: endedAtMs - beganAtMs,
  };
}

/** Cycles through a list whose length is a power of two. */
export class Ring<T extends object | string> {
  readonly #items: readonly T[];
  readonly #mask: number;

  constructor(items: readonly T[]) {
    if (items.length === 0 || (items.length & (items.length - 1)) !== 0)
      throw new Error(`a ring of ${items.length} items`);
    this.#items = items;
    this.#mask = items.length - 1;
  }

  static of<T extends object | string>(length: number, make: (n: number) => T): Ring<T> {
    return new Ring(Array.from({ length }, (_, n) => make(n)));
  }

  at(n: number): T {
    const item = this.#items[n & this.#mask];
    if (item === undefined) throw new Error('a ring with a hole');
    return item;
  }
}
