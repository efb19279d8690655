/** A score worker reduced to its assets: answers look-ups and runs the model, for tests of reloading across real threads. */
import { parentPort, threadId, workerData } from 'node:worker_threads';
import type { AssetSet } from '../../src/assets/asset-messages.ts';
import { openWorkerAssets } from '../../src/score/asset-slots.ts';

export interface LayerQuestion {
  readonly id: number;
  readonly ip?: string;
  /** Value of every feature, default 0. */
  readonly fill?: number;
  readonly close?: boolean;
}

export interface LayerAnswer {
  readonly id: number;
  readonly country: string | null;
  readonly model: string | null;
  readonly probability: number | null;
  readonly degraded: boolean;
}

const layers = await openWorkerAssets(workerData as AssetSet, threadId);
parentPort?.on('message', (question: LayerQuestion) => {
  void (async () => {
    if (question.close === true) {
      await layers.close();
      process.exit(0);
    }
    const model = layers.model.current();
    const probabilities =
      model === null ? null : await model.run(new Float32Array(model.columns.length).fill(question.fill ?? 0), 1);
    const answer: LayerAnswer = {
      id: question.id,
      country: layers.geo.lookup(question.ip ?? '203.0.113.1', 4)?.country ?? null,
      model: model?.version ?? null,
      probability: probabilities?.[0] ?? null,
      degraded: layers.degraded(),
    };
    parentPort?.postMessage(answer);
  })();
});
