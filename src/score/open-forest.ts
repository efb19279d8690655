import type { ModelFault } from '../assets/asset-messages.ts';
import { type Forest, parseForest } from '../risk/forest.ts';
import type { ModelManifest } from './model-manifest.ts';
import { type OpenModel, type OpenOutcome, runGolden } from './model-session.ts';

/** Choice: three columns and their shares fit into one line of a decision's evidence. */
const REASONS_MAX = 3;

/** Reads the bytes of `forest.json`, which may be in shared memory, and runs the golden rows. Never rejects; needs no runtime. */
export async function openForest(manifest: ModelManifest, bytes: Uint8Array): Promise<OpenOutcome> {
  const parsed = parseForest(Buffer.from(bytes).toString('utf8'), manifest.columns.length);
  if (parsed.kind === 'fault') return fault('load_failed', parsed.detail);
  const model = new OpenedForest(parsed.forest, manifest);
  const golden = await runGolden((features, rows) => model.run(features, rows), manifest);
  return golden.kind === 'fault' ? golden : { kind: 'ok', model, maxError: golden.maxError };
}

class OpenedForest implements OpenModel {
  readonly #forest: Forest;
  readonly #width: number;
  readonly #names: readonly string[];

  constructor(forest: Forest, { columnNames }: ModelManifest) {
    this.#forest = forest;
    this.#width = columnNames.length;
    this.#names = columnNames;
  }

  run(features: Float32Array, rows: number): Promise<Float32Array> {
    const probabilities = new Float32Array(rows);
    for (let row = 0; row < rows; row++) probabilities[row] = this.#forest.probability(features, row * this.#width);
    return Promise.resolve(probabilities);
  }

  reasons(features: Float32Array, offset: number): string {
    return this.#forest
      .shares(features, offset)
      .slice(0, REASONS_MAX)
      .map(({ column, share }) => `${this.#names[column] ?? ''} ${share < 0 ? '' : '+'}${share.toFixed(2)}`)
      .join(', ');
  }

  release(): Promise<void> {
    return Promise.resolve();
  }
}

function fault(code: ModelFault['code'], detail: string): ModelFault {
  return { kind: 'fault', code, detail };
}
