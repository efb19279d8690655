import { createRequire } from 'node:module';
import type { ModelFault } from '../assets/asset-messages.ts';
import type { ModelManifest } from './model-manifest.ts';

/** Choice: besides the golden rows, a run of this many rows must work too: a graph made for one row at a time fails. */
const WIDE_ROWS = 64;
/** Rounding to 32 bits may move a probability this far outside of 0 to 1. */
const ROUNDING = 1e-5;

interface Tensor {
  readonly type: string;
  readonly data: unknown;
  readonly dims: readonly number[];
}

interface Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(feeds: Record<string, Tensor>, fetches: readonly string[]): Promise<Record<string, Tensor | undefined>>;
  release(): Promise<void>;
}

/** The part of onnxruntime-node that is used. Its own types are not imported: the package may be absent when this is compiled. */
export interface ModelRuntime {
  readonly InferenceSession: { create(bytes: Uint8Array, options: object): Promise<Session> };
  readonly Tensor: new (type: 'float32', data: Float32Array, dims: readonly number[]) => Tensor;
}

/** A model that has passed its golden rows. */
export interface OpenModel {
  /**
   * `features` is `Float32Array[rows × columns]`. Resolves to one probability per row; NaN if the model's output is not a probability.
   * Rejects when the runtime fails.
   */
  run(features: Float32Array, rows: number): Promise<Float32Array>;
  /** The columns that moved the row at `offset` of `features`, as text; absent if the format gives no reasons. */
  reasons?(features: Float32Array, offset: number): string;
  release(): Promise<void>;
}

export type OpenOutcome = { readonly kind: 'ok'; readonly model: OpenModel; readonly maxError: number } | ModelFault;

/** Returns the runtime, or null if the optional package is not installed or has no binary for this platform. */
export function loadRuntime(): ModelRuntime | null {
  try {
    const runtime: unknown = createRequire(import.meta.url)('onnxruntime-node');
    return isRuntime(runtime) ? runtime : null;
  } catch {
    return null;
  }
}

/**
 * Creates a session from the bytes and runs the golden rows in it. Blocks this thread while the runtime loads the graph. The session keeps
 * its own copy of the weights. `bytes` may be in shared memory, which the runtime does not accept, so they are copied while loading.
 */
export async function openModel(
  runtime: ModelRuntime,
  manifest: ModelManifest,
  bytes: Uint8Array,
): Promise<OpenOutcome> {
  let session: Session;
  try {
    session = await runtime.InferenceSession.create(Uint8Array.from(bytes), {
      executionProviders: ['cpu'],
      // One thread each: the score workers are the parallelism, and the runtime's threads would only compete with them.
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      // Faults are returned as rejections; the runtime's own lines on standard error would only repeat them.
      logSeverityLevel: 4,
    });
  } catch (error) {
    return fault('load_failed', messageOf(error));
  }
  const outcome = await proveSession(runtime, manifest, session);
  if (outcome.kind === 'fault') await session.release().catch(() => {});
  return outcome;
}

async function proveSession(runtime: ModelRuntime, manifest: ModelManifest, session: Session): Promise<OpenOutcome> {
  const width = manifest.columns.length;
  const input = manifest.input ?? (session.inputNames.length === 1 ? (session.inputNames[0] ?? null) : null);
  if (input === null) return fault('load_failed', 'the graph has several inputs and the manifest names none');
  if (!session.inputNames.includes(input)) return fault('load_failed', `the graph has no input "${input}"`);
  const candidates = manifest.output === null ? outputsByLikelihood(session.outputNames) : [manifest.output];
  if (candidates.some((name) => !session.outputNames.includes(name)))
    return fault('bad_output', `the graph has no output "${manifest.output ?? ''}"`);

  const runs = (output: string): OpenModel['run'] => {
    const fetches = [output];
    return async (features, rows) => {
      const used = features.subarray(0, rows * width);
      // The runtime rejects tensors over shared memory.
      const data = used.buffer instanceof SharedArrayBuffer ? Float32Array.from(used) : used;
      const tensor = new runtime.Tensor('float32', data, [rows, width]);
      const answers = await session.run({ [input]: tensor }, fetches);
      return readProbabilities(answers[output], rows);
    };
  };

  let reason = 'the graph has no output';
  for (const output of candidates) {
    const run = runs(output);
    try {
      const golden = await runGolden(run, manifest);
      if (golden.kind === 'fault') return golden;
      return {
        kind: 'ok',
        maxError: golden.maxError,
        model: { run, release: () => session.release() },
      };
    } catch (error) {
      reason = `output "${output}": ${messageOf(error)}`;
    }
  }
  return fault('bad_output', reason);
}

/**
 * Sorts the outputs so that probabilities come first. Classifiers also output a label; it comes first in the graph and is never the result.
 */
function outputsByLikelihood(names: readonly string[]): readonly string[] {
  return [...names].sort((a, b) => Number(/prob/i.test(b)) - Number(/prob/i.test(a)));
}

/** Runs the golden rows together, and the first one alone and repeated. Rejects when `run` does. */
export async function runGolden(
  run: OpenModel['run'],
  manifest: ModelManifest,
): Promise<{ readonly kind: 'ok'; readonly maxError: number } | ModelFault> {
  const { golden, columns } = manifest;
  const together = Float32Array.from(golden.flatMap((row) => row.features));
  const probabilities = await run(together, golden.length);
  let maxError = 0;
  for (const [i, row] of golden.entries()) {
    const got = probabilities[i] ?? NaN;
    if (Number.isNaN(got)) return fault('bad_output', `golden row ${i}: the output is not a probability`);
    const error = Math.abs(got - row.probability);
    if (error > row.tolerance)
      return fault('golden_failed', `golden row ${i}: expected ${row.probability}, got ${got.toFixed(6)}`);
    maxError = Math.max(maxError, error);
  }
  // A row's result must not depend on the number of other rows in its run.
  const first = together.subarray(0, columns.length);
  for (const rows of [1, WIDE_ROWS]) {
    const repeated = new Float32Array(rows * columns.length);
    for (let row = 0; row < rows; row++) repeated.set(first, row * columns.length);
    const answers = await run(repeated, rows);
    const expected = probabilities[0] ?? NaN;
    if (!answers.every((answer) => Math.abs(answer - expected) <= (golden[0]?.tolerance ?? 0) + ROUNDING))
      return fault('bad_output', `the output for a row differs in a run of ${rows} rows`);
  }
  return { kind: 'ok', maxError };
}

/** Accepts `[N]`, `[N, 1]`, or `[N, 2]`, whose second column is the probability. Throws on any other shape. */
function readProbabilities(tensor: Tensor | undefined, rows: number): Float32Array {
  const data = tensor?.data;
  if (tensor === undefined || !(data instanceof Float32Array || data instanceof Float64Array))
    throw new Error('it does not contain floating-point numbers');
  const { dims } = tensor;
  const columns = dims.length === 1 ? 1 : dims.length === 2 ? dims[1] : undefined;
  if (dims[0] !== rows || (columns !== 1 && columns !== 2) || data.length !== rows * columns)
    throw new Error(`its shape is [${dims.join(', ')}] for ${rows} rows`);
  const probabilities = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const value = data[row * columns + columns - 1] ?? NaN;
    const fits = value >= -ROUNDING && value <= 1 + ROUNDING;
    probabilities[row] = fits ? Math.min(1, Math.max(0, value)) : NaN;
  }
  return probabilities;
}

function isRuntime(value: unknown): value is ModelRuntime {
  return typeof value === 'object' && value !== null && 'InferenceSession' in value && 'Tensor' in value;
}

function fault(code: ModelFault['code'], detail: string): ModelFault {
  // The runtime's messages can be long and contain line breaks; they are shown in one line of public text.
  return { kind: 'fault', code, detail: detail.replace(/\s+/g, ' ').slice(0, 300) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
