import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Assets } from '../../../src/assets/assets.ts';
import { endShadow, shadowModel } from '../../../src/cli/choose-model.ts';
import { writeForest } from '../../support/forest-files.ts';
import { LayerFolders, until } from '../../support/layer-folders.ts';

let folders: LayerFolders;
beforeEach(() => {
  folders = new LayerFolders();
});
afterEach(() => folders.close());

const candidate = (id: string): string => join(folders.models, 'candidates', id);

/** Two polls: the second finds the files unchanged. */
async function poll(layers: Assets): Promise<void> {
  await layers.poll();
  await layers.poll();
}

describe('The challenger model', () => {
  it('A candidate runs beside the active model from models shadow on, until models shadow --off', async () => {
    writeForest(folders.models, { version: 'one', probability: 0.2 });
    writeForest(candidate('next'), { version: 'two', probability: 0.8 });
    const layers = await folders.open();
    const worker = await folders.startWorker(layers);
    expect(layers.challenger()).toMatchObject({ state: 'absent', version: null });

    expect(await shadowModel(folders.models, 'next', Date.now())).toMatchObject({ kind: 'ok' });
    await poll(layers);
    await until(async () => (await worker.ask()).challenger === 'next');
    const answer = await worker.ask();
    expect(answer.model).toBe('forest one');
    expect(answer.probability).toBeCloseTo(0.2);
    expect(answer.challengerProbability).toBeCloseTo(0.8);
    expect(layers.challenger()).toMatchObject({ state: 'ok', version: 'next' });

    expect(await endShadow(folders.models)).toMatchObject({ kind: 'ok' });
    await poll(layers);
    await until(async () => (await worker.ask()).challenger === null);
    expect((await worker.ask()).model).toBe('forest one');
  });

  it.each<[string, () => void, string]>([
    ['is cut', () => truncateSync(join(candidate('bad'), 'forest.json'), 40), 'sha256_mismatch'],
    [
      'has an unknown column',
      () => writeForest(candidate('bad'), { manifest: { columns: ['no:such'] } }),
      'unknown_column',
    ],
    [
      'has a result that is no number',
      () => writeForest(candidate('bad'), { manifest: { golden: [{ features: [0], probability: 0.1 }] } }),
      'golden_failed',
    ],
    [
      'is too large',
      () => writeFileSync(join(candidate('bad'), 'forest.json'), Buffer.alloc(33 * 1024 * 1024)),
      'load_failed',
    ],
    ['is gone', () => rmSync(candidate('bad'), { recursive: true }), 'manifest_missing'],
  ])('A candidate that %s is refused and leaves the active model serving', async (_what, spoil, code) => {
    writeForest(folders.models, { version: 'one' });
    writeForest(candidate('bad'));
    writeFileSync(join(folders.models, 'shadow.json'), '{"id":"bad","since":1}');
    spoil();
    const layers = await folders.open();
    const worker = await folders.startWorker(layers);
    await poll(layers);
    expect(layers.challenger()).toMatchObject({ state: 'broken', version: null, refused: true });
    expect(layers.challenger().detail).toContain(code);
    expect(folders.warnings.join('\n')).toContain('challenger model refused');
    expect(layers.status().model).toMatchObject({ state: 'ok', version: 'forest one', refused: false });
    expect(await worker.ask()).toMatchObject({ model: 'forest one', challenger: null });
  });

  it.each([
    ['is empty', ''],
    ['is cut', '{'],
    ['has a path for an id', '{"id":"../../etc","since":1}'],
    ['has a number for an id', '{"id":7,"since":1}'],
    ['has no time', '{"id":"a"}'],
    ['is too large', 'x'.repeat(5_000)],
  ])('A shadow.json that %s names no candidate, and nothing runs', async (_what, text) => {
    writeForest(folders.models);
    writeFileSync(join(folders.models, 'shadow.json'), text);
    const layers = await folders.open();
    expect(layers.challenger()).toMatchObject({ state: 'broken', refused: true });
    expect(layers.challenger().detail).toContain('shadow.json');
    expect(layers.status().model.state).toBe('ok');
  });

  it('models shadow refuses a candidate that no server would load', async () => {
    writeForest(candidate('bad'), { manifest: { columns: ['no:such'] } });
    expect(await shadowModel(folders.models, 'bad', 0)).toMatchObject({ kind: 'error', code: 'unknown_column' });
    expect(await shadowModel(folders.models, '../..', 0)).toMatchObject({ kind: 'error', code: 'not_found' });
    expect(await endShadow(folders.models)).toMatchObject({ kind: 'error', code: 'no_challenger' });
  });
});
