import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeModel, writeModel } from '../../../scripts/make-model.ts';
import type { Variant } from '../../../scripts/make-model.ts';
import type { ModelContent } from '../../../src/assets/asset-messages.ts';
import { checkModel } from '../../../src/score/model-check.ts';
import { parseManifest } from '../../../src/score/model-manifest.ts';
import { loadRuntime } from '../../../src/score/model-session.ts';
import { createModelAsset } from '../../../src/score/model.ts';
import { shared } from '../../support/mmdb-writer.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-model-'));
afterAll(() => rmSync(folder, { recursive: true }));

const installed = loadRuntime() !== null;
const NONE: ModelContent = { kind: 'absent', generation: 0, detail: '' };

function ready(generation: number, variant: Variant = 'good', version = '1'): ModelContent {
  const made = makeModel(variant, version);
  return {
    kind: 'ready',
    generation,
    version,
    manifest: made.manifest,
    file: { name: 'model.onnx', bytes: shared(made.onnx) },
  };
}

/** The golden rows of a model, as one input. */
function golden(variant: Variant = 'good', version = '1') {
  const parsed = parseManifest(makeModel(variant, version).manifest);
  if (parsed.kind === 'fault') throw new Error(parsed.detail);
  const rows = parsed.manifest.golden;
  return {
    rows: rows.length,
    width: parsed.manifest.columns.length,
    features: Float32Array.from(rows.flatMap((row) => row.features)),
    expected: rows.map((row) => row.probability),
  };
}

describe('parseManifest', () => {
  const good = JSON.parse(makeModel().manifest) as Record<string, unknown>;
  it.each<[string, unknown, string]>([
    ['text that is not JSON', '{', 'manifest_invalid'],
    ['an array instead of an object', '[]', 'manifest_invalid'],
    ['no columns', { ...good, columns: [] }, 'manifest_invalid'],
    ['no golden rows', { ...good, golden: [] }, 'manifest_invalid'],
    ['a short golden row', { ...good, golden: [{ features: [1], probability: 0.5 }] }, 'manifest_invalid'],
    ['a probability over 1', { ...good, golden: [{ features: [], probability: 2 }] }, 'manifest_invalid'],
    ['a bad checksum', { ...good, sha256: 'abc' }, 'manifest_invalid'],
    ['an unknown column', { ...good, columns: ['no:such'] }, 'unknown_column'],
  ])('parseManifest rejects a manifest with %s', (_name, manifest, code) => {
    const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
    expect(parseManifest(text)).toMatchObject({ kind: 'fault', code });
  });
});

describe.skipIf(!installed)('checkModel', () => {
  it.each<[Variant, string]>([
    ['wrong_sha256', 'sha256_mismatch'],
    ['wrong_golden', 'golden_failed'],
    ['nan_output', 'bad_output'],
    ['wrong_shape', 'bad_output'],
    ['unknown_column', 'unknown_column'],
    ['garbage', 'load_failed'],
  ])('checkModel rejects the model %s with %s', async (variant, code) => {
    const at = join(folder, variant);
    writeModel(at, makeModel(variant));
    expect(await checkModel(at)).toMatchObject({ kind: 'fault', code });
  });

  it.each<Variant>(['good', 'classifier'])('checkModel accepts the model %s', async (variant) => {
    const at = join(folder, variant);
    writeModel(at, makeModel(variant));
    const check = await checkModel(at);
    expect(check).toMatchObject({ kind: 'ok', name: 'toy', version: '1', rows: 6 });
    expect(check.kind === 'ok' && check.maxError).toBeLessThan(1e-6);
    expect(await checkModel(join(at, 'model.onnx'))).toEqual(check);
    expect(await checkModel(join(at, 'model.json'))).toEqual(check);
  });

  it('checkModel names the missing file', async () => {
    expect(await checkModel(join(folder, 'nowhere'))).toMatchObject({ code: 'manifest_missing' });
    const at = join(folder, 'half');
    writeModel(at, makeModel());
    rmSync(join(at, 'model.onnx'));
    expect(await checkModel(at)).toMatchObject({ code: 'model_missing' });
  });
});

describe.skipIf(!installed)('the model layer', () => {
  it.each<Variant>(['good', 'classifier'])(
    'The model %s returns the golden probabilities with any number of rows at once',
    async (variant) => {
      const layer = await createModelAsset(ready(1, variant));
      const model = layer.current();
      const { rows, width, features, expected } = golden(variant);
      expect(model?.columns.length).toBe(width);
      const together = await model?.run(features, rows);
      expect(together?.length).toBe(rows);
      for (const [i, probability] of expected.entries()) {
        expect(together?.[i]).toBeCloseTo(probability, 5);
        const alone = await model?.run(features.subarray(i * width, (i + 1) * width), 1);
        expect(alone?.[0]).toBeCloseTo(probability, 5);
      }
      // A longer buffer than needed for the rows, and one in shared memory.
      const long = new Float32Array(new SharedArrayBuffer(64 * width * 4));
      long.set(features);
      expect((await model?.run(long, rows))?.[3]).toBeCloseTo(expected[3] ?? NaN, 5);
      await layer.close();
    },
  );

  it('A swap does not fail batches that hold the old model', async () => {
    const layer = await createModelAsset(ready(1));
    const old = layer.current();
    await layer.swap(ready(2, 'good', '2'));
    expect(layer.status()).toEqual({ generation: 2, state: 'ok', version: '2', detail: '' });
    const { rows, features, expected } = golden();
    expect((await old?.run(features, rows))?.[0]).toBeCloseTo(expected[0] ?? NaN, 5);
    expect((await layer.current()?.run(features, rows))?.[0]).toBeCloseTo(golden('good', '2').expected[0] ?? NaN, 5);
    await layer.swap(ready(1));
    expect(layer.status().version).toBe('2');
    await layer.close();
    expect(layer.current()).toBeNull();
    expect(await old?.run(features, rows)).toBeNull();
  });

  it.each<Variant>(['garbage', 'wrong_golden', 'nan_output', 'wrong_shape', 'unknown_column'])(
    'A swap to the model %s is refused and keeps the old model',
    async (variant) => {
      const layer = await createModelAsset(ready(1));
      await layer.swap(ready(2, variant));
      expect(layer.status()).toMatchObject({ generation: 2, state: 'ok', version: '1' });
      expect(layer.status().detail).toContain('model.onnx was refused');
      expect(layer.current()?.version).toBe('1');
      await layer.close();
      const alone = await createModelAsset(ready(1, variant));
      expect(alone.status().state).toBe('broken');
      expect(alone.current()).toBeNull();
    },
  );

  it('A model returns NaN for a row without a valid probability, and is broken after three such runs', async () => {
    const states: string[] = [];
    const layer = await createModelAsset(ready(1, 'nan_later'), () => states.push(layer.status().state));
    const { width, features, rows } = golden('nan_later');
    // The second row has every feature set: outside of the model's valid range.
    const bad = new Float32Array(2 * width).fill(1, width);
    for (let i = 0; i < 3; i++) {
      const answers = await layer.current()?.run(bad, 2);
      expect(answers?.[0]).toBeCloseTo(0.048, 2);
      expect(answers?.[1]).toBeNaN();
    }
    expect(layer.status()).toMatchObject({ state: 'broken', version: '1' });
    for (let i = 0; i < 100; i++) await layer.current()?.run(features, rows);
    expect(layer.status().state).toBe('ok');
    expect(states).toEqual(['broken', 'ok']);
    await layer.close();
  });

  it('A model returns null when the runtime fails, and is broken after three such runs', async () => {
    const layer = await createModelAsset(ready(1));
    for (let i = 0; i < 3; i++) expect(await layer.current()?.run(new Float32Array(3), 5)).toBeNull();
    expect(layer.status().state).toBe('broken');
    await layer.close();
  });
});

/** A forest of one split on `agent:headless`, as a folder or a slot holds it. */
function forestModel(changes: object = {}) {
  const text = JSON.stringify({
    format: 'gatehouse-forest',
    base: -2,
    scale: 1,
    shift: 0,
    starts: [0],
    column: [0, -1, -1],
    threshold: [0.5, 0, 0],
    left: [1, 0, 0],
    right: [2, 0, 0],
    value: [0.5, 0, 4],
    ...changes,
  });
  const manifest = JSON.stringify({
    name: 'forest',
    version: '1',
    format: 'forest',
    columns: ['agent:headless'],
    sha256: createHash('sha256').update(text).digest('hex'),
    golden: [
      { features: [0], probability: 0.119203 },
      { features: [1], probability: 0.880797 },
    ],
  });
  return { text, manifest };
}

describe('a forest', () => {
  const noRuntime = (): null => null;
  const content = (generation: number, changes?: object): ModelContent => {
    const { text, manifest } = forestModel(changes);
    const file = { name: 'forest.json', bytes: shared(Buffer.from(text)) };
    return { kind: 'ready', generation, version: `forest ${generation}`, manifest, file };
  };

  it('A forest needs no runtime, returns its probabilities and names the columns behind them', async () => {
    const layer = await createModelAsset(content(1), () => {}, noRuntime);
    expect(layer.status()).toEqual({ generation: 1, state: 'ok', version: 'forest 1', detail: '' });
    const rows = Float32Array.from([0, 1]);
    expect((await layer.current()?.run(rows, 2))?.[1]).toBeCloseTo(0.880797, 6);
    expect(layer.current()?.reasons(rows, 0)).toBe(': agent:headless -0.50');
    expect(layer.current()?.reasons(rows, 1)).toBe(': agent:headless +3.50');
    await layer.close();
  });

  it.each([
    ['with a cycle', { left: [0, 0, 0] }],
    ['with other results than its golden rows', { base: 0 }],
  ])('A swap to a forest %s is refused and keeps the old one', async (_name, changes) => {
    const layer = await createModelAsset(content(1), () => {}, noRuntime);
    await layer.swap(content(2, changes));
    expect(layer.status()).toMatchObject({ generation: 2, state: 'ok', version: 'forest 1' });
    expect(layer.status().detail).toContain('forest.json was refused');
    await layer.close();
  });

  it('checkModel accepts a folder with a forest, and names the fault of a bad one', async () => {
    const at = join(folder, 'forest');
    const put = ({ text, manifest }: ReturnType<typeof forestModel>): void => {
      mkdirSync(at, { recursive: true });
      writeFileSync(join(at, 'forest.json'), text);
      writeFileSync(join(at, 'model.json'), manifest);
    };
    put(forestModel());
    const check = await checkModel(at);
    expect(check).toMatchObject({ kind: 'ok', name: 'forest', format: 'forest', rows: 2 });
    expect(await checkModel(join(at, 'forest.json'))).toEqual(check);
    put(forestModel({ right: [1, 0, 0] }));
    expect(await checkModel(at)).toMatchObject({ code: 'load_failed' });
    put({ ...forestModel(), text: '{}' });
    expect(await checkModel(at)).toMatchObject({ code: 'sha256_mismatch' });
  });
});

describe('without the runtime', () => {
  it('The model is absent without the runtime, and the status names the reason', async () => {
    const layer = await createModelAsset(
      ready(1),
      () => {},
      () => null,
    );
    expect(layer.status()).toEqual({
      generation: 1,
      state: 'absent',
      version: null,
      detail: 'onnxruntime-node is not installed',
    });
    expect(layer.current()).toBeNull();
  });

  it('No runtime is needed without a model', async () => {
    const layer = await createModelAsset(
      NONE,
      () => {},
      () => {
        throw new Error('not to be loaded');
      },
    );
    expect(layer.status().state).toBe('absent');
  });
});
