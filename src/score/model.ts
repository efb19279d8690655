import type { ModelContent, SharedFile } from '../assets/asset-messages.ts';
import type { SlotStatus } from './geoip.ts';
import { loadRuntime, openModel } from './model-session.ts';
import type { ModelRuntime, OpenModel, OpenOutcome } from './model-session.ts';
import type { ModelManifest } from './model-manifest.ts';

/** Choice: consecutive failed runs after which the model counts as failed; a single invalid row does not indicate a broken model. */
const BROKEN_AFTER = 3;
/** Choice: consecutive valid runs after which a failed model counts as healthy again. */
const MENDED_AFTER = 100;
/** Choice: how long a replaced session stays usable for the batch that still holds it; a batch takes under a millisecond. */
const RELEASE_AFTER_MS = 1_000;

/** The model in use. A batch acquires it once, fills its features by its columns, and runs it, so a swap meanwhile is harmless. */
export interface ActiveModel {
  readonly version: string;
  /** The probability from which the model counts. */
  readonly threshold: number;
  /** For `fillFeatures`. */
  readonly columns: readonly number[];
  /**
   * `features` is `Float32Array[rows × columns.length]`, all finite. Resolves to one probability per row, NaN for a row without a valid
   * one; null when the run failed. Never rejects: without a result the rules decide alone.
   */
  run(features: Float32Array, rows: number): Promise<Float32Array | null>;
  /** `: ` and the columns that moved the row at `offset` of `features`, with their shares; '' if the model gives no reasons. */
  reasons(features: Float32Array, offset: number): string;
}

/** The model asset of one worker. */
export interface ModelAsset {
  /** Null while rules decide alone. */
  current(): ActiveModel | null;
  /**
   * Installs a newer content. The new session is created and tested before it replaces the old one; if it fails, the old one stays. Blocks
   * this thread while the graph loads; never rejects. Swaps run one after the other.
   */
  swap(content: ModelContent): Promise<void>;
  status(): SlotStatus;
  /** Releases the session. Await it before the worker ends. */
  close(): Promise<void>;
}

/** Older than every content. */
const ABSENT: SlotStatus = { generation: -1, state: 'absent', version: null, detail: '' };

/** `runtime` is null for a forest, which needs none. */
async function openBytes(
  manifest: ModelManifest,
  runtime: ModelRuntime | null,
  bytes: Uint8Array,
): Promise<OpenOutcome> {
  if (runtime !== null) return openModel(runtime, manifest, bytes);
  const { openForest } = await import('./open-forest.ts');
  return openForest(manifest, bytes);
}

/** Calls `changed` after each later swap, and whenever the model fails or recovers. */
export async function createModelAsset(
  initial: ModelContent,
  changed: () => void = () => {},
  runtimeOf: () => ModelRuntime | null = loadRuntime,
): Promise<ModelAsset> {
  const layer = new Asset(runtimeOf);
  await layer.swap(initial);
  layer.report(changed);
  return layer;
}

/** For a thread that never runs a model: as if there were none. */
export const WITHOUT_MODEL: ModelAsset = {
  current: () => null,
  swap: () => Promise.resolve(),
  status: () => ABSENT,
  close: () => Promise.resolve(),
};

class Asset implements ModelAsset {
  #serving: Serving | null = null;
  #status = ABSENT;
  #queue: Promise<void> = Promise.resolve();
  readonly #retired = new Set<Serving>();
  #changed: () => void = () => {};
  readonly #runtimeOf: () => ModelRuntime | null;

  constructor(runtimeOf: () => ModelRuntime | null) {
    this.#runtimeOf = runtimeOf;
  }

  report(changed: () => void): void {
    this.#changed = changed;
  }

  current(): ActiveModel | null {
    return this.#serving;
  }

  status(): SlotStatus {
    return this.#status;
  }

  swap(content: ModelContent): Promise<void> {
    this.#queue = this.#queue.then(() => this.#take(content));
    return this.#queue;
  }

  async close(): Promise<void> {
    await this.#queue;
    this.#replace(null);
    await Promise.all([...this.#retired].map((serving) => this.#release(serving)));
  }

  async #take(content: ModelContent): Promise<void> {
    if (content.generation <= this.#status.generation) return;
    const { generation } = content;
    switch (content.kind) {
      case 'absent':
      case 'refused':
        this.#replace(null);
        this.#status = {
          generation,
          state: content.kind === 'absent' ? 'absent' : 'broken',
          version: null,
          detail: content.detail,
        };
        break;
      case 'ready':
        await this.#open(generation, content.version, content.manifest, content.file);
        break;
    }
    this.#changed();
  }

  async #open(generation: number, version: string, manifestText: string, file: SharedFile): Promise<void> {
    // Loaded only for a model: most workers have none, and its schema imports a package of 95 modules and 3 MB.
    const { parseManifest } = await import('./model-manifest.ts');
    const parsed = parseManifest(manifestText);
    const isForest = parsed.kind === 'ok' && parsed.manifest.format === 'forest';
    const runtime = isForest ? null : this.#runtimeOf();
    if (runtime === null && !isForest) {
      this.#replace(null);
      this.#status = { generation, state: 'absent', version: null, detail: 'onnxruntime-node is not installed' };
      return;
    }
    const outcome =
      parsed.kind === 'fault' ? parsed : await openBytes(parsed.manifest, runtime, new Uint8Array(file.bytes));
    if (parsed.kind === 'fault' || outcome.kind === 'fault') {
      const { code, detail } = parsed.kind === 'fault' ? parsed : (outcome as Exclude<typeof outcome, { kind: 'ok' }>);
      this.#status = {
        ...this.#status,
        generation,
        state: this.#serving === null ? 'broken' : this.#status.state,
        detail: `${file.name} was refused: ${code}: ${detail}`,
      };
      return;
    }
    this.#replace(new Serving(version, parsed.manifest, outcome.model, (sound) => this.#judge(sound)));
    this.#status = { generation, state: 'ok', version, detail: '' };
  }

  #replace(next: Serving | null): void {
    const old = this.#serving;
    this.#serving = next;
    if (old === null) return;
    old.retire();
    this.#retired.add(old);
    setTimeout(() => void this.#release(old), RELEASE_AFTER_MS).unref();
  }

  async #release(serving: Serving): Promise<void> {
    if (this.#retired.delete(serving)) await serving.release();
  }

  #judge(state: 'ok' | 'broken'): void {
    this.#status = {
      ...this.#status,
      state,
      detail: state === 'ok' ? '' : `${BROKEN_AFTER} consecutive runs returned no valid result`,
    };
    this.#changed();
  }
}

class Serving implements ActiveModel {
  readonly version: string;
  readonly threshold: number;
  readonly columns: readonly number[];
  readonly #model: OpenModel;
  readonly #judge: (state: 'ok' | 'broken') => void;
  #faultsInRow = 0;
  #soundInRow = 0;
  #broken = false;
  #retired = false;
  #running: Promise<unknown> = Promise.resolve();
  #released = false;

  constructor(
    version: string,
    { threshold, columns }: Pick<ModelManifest, 'threshold' | 'columns'>,
    model: OpenModel,
    judge: (state: 'ok' | 'broken') => void,
  ) {
    this.version = version;
    this.threshold = threshold;
    this.columns = columns;
    this.#model = model;
    this.#judge = judge;
  }

  async run(features: Float32Array, rows: number): Promise<Float32Array | null> {
    if (this.#released) return null;
    const run = this.#model.run(features, rows).catch(() => null);
    this.#running = run;
    const probabilities = await run;
    this.#count(probabilities !== null && !probabilities.some((probability) => Number.isNaN(probability)));
    return probabilities;
  }

  reasons(features: Float32Array, offset: number): string {
    const reasons = this.#model.reasons?.(features, offset) ?? '';
    return reasons === '' ? '' : `: ${reasons}`;
  }

  /** From here on its faults do not affect the asset's status. */
  retire(): void {
    this.#retired = true;
  }

  async release(): Promise<void> {
    this.#released = true;
    await this.#running;
    await this.#model.release();
  }

  #count(sound: boolean): void {
    this.#faultsInRow = sound ? 0 : this.#faultsInRow + 1;
    this.#soundInRow = sound ? this.#soundInRow + 1 : 0;
    const broken = this.#broken ? this.#soundInRow < MENDED_AFTER : this.#faultsInRow >= BROKEN_AFTER;
    if (broken === this.#broken || this.#retired) return;
    this.#broken = broken;
    this.#judge(broken ? 'broken' : 'ok');
  }
}
