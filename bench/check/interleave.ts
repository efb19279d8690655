import type { Build } from './build.ts';

/** Measures several processes in turn, in short slices, so that each phase of the machine affects all of them alike. */

/** Cost of one slice, µs. */
export interface Cost {
  readonly processorUs: number;
  readonly wallUs: number;
}

/** A running process under measurement. */
export interface Subject {
  /** Kinds of work that it performs; it is left out of the turns of other kinds. */
  readonly kinds: readonly string[];
  /** Performs one slice of work. */
  run(kind: string): Promise<void>;
  /** Processor time since the process began, µs. */
  readUs(): number;
}

export interface Turns {
  readonly kinds: readonly string[];
  readonly passes: number;
  /** No pass begins after this time, except the first one: on a busy machine fewer slices are measured. */
  readonly secondsMax: number;
  /** Runs before the slices of a kind; not measured. */
  prepare?(kind: string): Promise<void>;
}

/** Costs of one subject by kind, one per pass. */
export type Costs = Readonly<Record<string, readonly Cost[]>>;

/**
 * Runs every kind on every subject in every pass and swaps the first two subjects in every second pass (A B, B A), so that neither of them
 * benefits from its position; a third one is always last, so that both have the same neighbours. The processor time of a slice lasts until
 * the subject's next slice begins: what a server does after its last response, such as writing to its store and collecting garbage, is part
 * of the slice that caused it.
 */
export async function interleave(subjects: readonly Subject[], turns: Turns): Promise<readonly Costs[]> {
  const takers = subjects.map((subject) => ({ subject, taken: [] as Taken[] }));
  const untilMs = performance.now() + turns.secondsMax * 1_000;
  for (let pass = 0; pass < turns.passes && (pass === 0 || performance.now() < untilMs); pass++)
    for (const kind of turns.kinds) {
      await turns.prepare?.(kind);
      const inOrder = pass % 2 === 0 ? takers : [...takers.slice(0, 2).toReversed(), ...takers.slice(2)];
      for (const { subject, taken } of inOrder) if (subject.kinds.includes(kind)) taken.push(await take(subject, kind));
    }
  return takers.map(({ subject, taken }) => costsOf(taken, subject.readUs()));
}

interface Taken {
  readonly kind: string;
  readonly fromUs: number;
  readonly wallUs: number;
}

async function take(subject: Subject, kind: string): Promise<Taken> {
  const fromUs = subject.readUs();
  const fromMs = performance.now();
  await subject.run(kind);
  return { kind, fromUs, wallUs: (performance.now() - fromMs) * 1_000 };
}

function costsOf(taken: readonly Taken[], endUs: number): Costs {
  const costs: Record<string, Cost[]> = {};
  for (const [n, { kind, fromUs, wallUs }] of taken.entries())
    (costs[kind] ??= []).push({ processorUs: (taken[n + 1]?.fromUs ?? endUs) - fromUs, wallUs });
  return costs;
}

/** Opens something for both builds at the same time, in the given order. */
export async function inTurn<T>(
  isReferenceFirst: boolean,
  { ours, reference }: { readonly ours: Build; readonly reference: Build | null },
  open: (build: Build) => Promise<T>,
): Promise<readonly [ours: T, reference: T | null]> {
  if (reference === null) return [await open(ours), null];
  if (!isReferenceFirst) return Promise.all([open(ours), open(reference)]);
  const second = open(reference);
  const first = open(ours);
  return [await first, await second];
}
