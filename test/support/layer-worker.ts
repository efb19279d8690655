/** A score worker reduced to its assets: answers look-ups and runs the model, for tests of reloading across real threads. */
import { parentPort, threadId, workerData } from 'node:worker_threads';
import type { AssetSet } from '../../src/assets/asset-messages.ts';
import { openWorkerAssets } from '../../src/score/asset-slots.ts';
import type { ActiveModel } from '../../src/score/model.ts';

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
  readonly challenger: string | null;
  readonly challengerProbability: number | null;
  readonly degraded: boolean;
}

const layers = await openWorkerAssets(workerData as AssetSet, threadId);
parentPort?.on('message', (question: LayerQuestion) => {
  void (async () => {
    if (question.close === true) {
      await layers.close();
      process.exit(0);
    }
    const run = async (model: ActiveModel | null): Promise<number | null> => {
      const row = new Float32Array(model?.columns.length ?? 0).fill(question.fill ?? 0);
      return (await model?.run(row, 1))?.[0] ?? null;
    };
    const model = layers.model.current();
    const challenger = layers.challenger.current();
    const answer: LayerAnswer = {
      id: question.id,
      country: layers.geo.lookup(question.ip ?? '203.0.113.1', 4)?.country ?? null,
      model: model?.version ?? null,
      probability: await run(model),
      challenger: challenger?.version ?? null,
      challengerProbability: await run(challenger),
      degraded: layers.degraded(),
    };
    parentPort?.postMessage(answer);
  })();
});
