import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { openAssets } from '../../src/assets/assets.ts';
import type { AssetOptions, Assets } from '../../src/assets/assets.ts';
import type { LayerAnswer, LayerQuestion } from './layer-worker.ts';

/** Two temporary folders, and assets in them that are reloaded only on request of the test. */
export class LayerFolders {
  readonly root = mkdtempSync(join(tmpdir(), 'gatehouse-layers-'));
  readonly geoip = join(this.root, 'geoip');
  readonly models = join(this.root, 'models');
  readonly warnings: string[] = [];
  #opened: Assets[] = [];
  #workers: LayerWorker[] = [];

  constructor() {
    mkdirSync(this.geoip);
    mkdirSync(this.models);
  }

  async open(options: Partial<AssetOptions> = {}): Promise<Assets> {
    const layers = await openAssets({
      geoipDir: this.geoip,
      modelsDir: this.models,
      pollMs: 0,
      packages: [],
      log: { info: () => {}, warn: (fields, message) => this.warnings.push(`${message} ${JSON.stringify(fields)}`) },
      ...options,
    });
    this.#opened.push(layers);
    return layers;
  }

  /** Replaces the file atomically. */
  put(name: string, bytes: Uint8Array): void {
    writeFileSync(join(this.geoip, `${name}.new`), bytes);
    renameSync(join(this.geoip, `${name}.new`), join(this.geoip, name));
  }

  remove(name: string): void {
    rmSync(join(this.geoip, name));
  }

  async startWorker(layers: Assets): Promise<LayerWorker> {
    const worker = new LayerWorker(layers);
    this.#workers.push(worker);
    await worker.ask();
    return worker;
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) await worker.close();
    for (const layers of this.#opened) await layers.close();
    this.#workers = [];
    this.#opened = [];
    rmSync(this.root, { recursive: true });
  }
}

/** The built worker, because threads start from JavaScript. */
const WORKER = new URL('../../dist/test/support/layer-worker.js', import.meta.url);

export class LayerWorker {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (answer: LayerAnswer) => void>();
  #asked = 0;

  constructor(layers: Assets) {
    this.#worker = new Worker(WORKER, { workerData: layers.initial() });
    this.#worker.on('message', (answer: LayerAnswer) => {
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  get threadId(): number {
    return this.#worker.threadId;
  }

  ask(ip?: string, fill?: number): Promise<LayerAnswer> {
    this.#asked += 1;
    const question: LayerQuestion = {
      id: this.#asked,
      ...(ip !== undefined && { ip }),
      ...(fill !== undefined && { fill }),
    };
    return new Promise((resolve) => {
      this.#waiting.set(question.id, resolve);
      this.#worker.postMessage(question);
    });
  }

  async close(): Promise<void> {
    const ended = once(this.#worker, 'exit');
    this.#worker.postMessage({ id: 0, close: true } satisfies LayerQuestion);
    await ended;
  }
}

/** Waits until the condition holds; the test's time limit ends a wait that never succeeds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds()))
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
}
