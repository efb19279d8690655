import { expect } from 'vitest';
import type { FoundRecord, JsonObject, Operation, Source, Step } from '../../src/extract/base/connector.ts';

export interface Run {
  /** The records that a job would store: without duplicate ids, and not more than the limit. */
  readonly records: readonly FoundRecord[];
  readonly stepCount: number;
  /** The total reported by the last step. */
  readonly total: number | null;
  /** Whether no step was left at the end. */
  readonly isDone: boolean;
  readonly pauses: readonly number[];
}

/** Source: the maximum size of a step; see `Connector`. */
const STEP_BYTES_MAX = 4_096;

/**
 * Runs an operation like a job: pages in order, then lists from the last one on, each key once, until no step is left, enough records were
 * found, or `stepsMax` steps were run.
 */
export async function runOperation(
  operation: Operation,
  input: JsonObject,
  source: Source,
  { limit = Infinity, stepsMax = 2_000 }: { readonly limit?: number; readonly stepsMax?: number } = {},
): Promise<Run> {
  const keys = new Set<string>();
  const records = new Map<string, FoundRecord>();
  const pauses: number[] = [];
  let waiting: readonly Step[] = firstSteps(operation, input);
  let stepCount = 0;
  let total: number | null = null;
  while (waiting.length > 0 && records.size < limit && stepCount < stepsMax) {
    const step = waiting.find(({ isList }) => isList !== true) ?? waiting.at(-1);
    if (step === undefined) break;
    waiting = waiting.filter((other) => other !== step);
    if (keys.has(step.key)) continue;
    keys.add(step.key);
    stepCount += 1;
    const found = await operation.run(stored(step), source, { recordsLeft: limit - records.size });
    for (const record of found.records) if (records.size < limit) records.set(record.id, record);
    total = found.total;
    if (found.pauseSeconds !== undefined) pauses.push(found.pauseSeconds);
    waiting = [...waiting, ...found.next];
  }
  const isDone = !waiting.some(({ key }) => !keys.has(key));
  return { records: [...records.values()], stepCount, total, isDone, pauses };
}

function firstSteps(operation: Operation, input: JsonObject): readonly Step[] {
  const begun = operation.start(input);
  if (begun.kind === 'fault') throw new Error(`${begun.pointer}: ${begun.message}`);
  return begun.steps;
}

/** Returns the state as read back from the store. Asserts what every step must satisfy: plain JSON of limited size. */
function stored({ key, state }: Step): JsonObject {
  const text = JSON.stringify({ key, state });
  expect(Buffer.byteLength(text)).toBeLessThan(STEP_BYTES_MAX);
  const back = (JSON.parse(text) as Step).state;
  expect(back).toEqual(state);
  return back;
}
