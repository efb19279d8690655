import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileErrorCode } from '../assets/asset-files.ts';
import { FOREST_BYTES_MAX, MODEL_BYTES_MAX, MODEL_FILES } from '../assets/asset-messages.ts';
import type { ModelCheck, ModelFault } from '../assets/asset-messages.ts';
import { parseManifest } from './model-manifest.ts';
import { openForest } from './open-forest.ts';
import { loadRuntime, openModel } from './model-session.ts';
import type { OpenOutcome } from './model-session.ts';
import type { ModelManifest } from './model-manifest.ts';

/** Choice: a manifest consists mostly of its golden rows. */
const MANIFEST_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Checks a model in this process: manifest, checksum, columns, loading, golden rows. Never rejects. A corrupt file may end the process or
 * block it, so the server and the command line run it in a child process (`checkModelApart`).
 *
 * @param path a folder with `model.json` and the file it describes, `model.onnx` or `forest.json`; or one of the files.
 */
export async function checkModel(path: string): Promise<ModelCheck> {
  const files = await findModelFiles(path);

  const manifestText = await readBounded(files.manifest, MANIFEST_BYTES_MAX);
  if (manifestText.kind === 'absent') return fault('manifest_missing', `${basename(files.manifest)} is not there`);
  if (manifestText.kind === 'fault') return fault('manifest_invalid', manifestText.detail);
  const parsed = parseManifest(manifestText.bytes.toString('utf8'));
  if (parsed.kind === 'fault') return parsed;
  const { manifest } = parsed;

  const isForest = manifest.format === 'forest';
  const modelPath = isForest ? files.forest : files.model;
  const model = await readBounded(modelPath, isForest ? FOREST_BYTES_MAX : MODEL_BYTES_MAX);
  if (model.kind === 'absent') return fault('model_missing', `${basename(modelPath)} is not there`);
  if (model.kind === 'fault') return fault('load_failed', model.detail);
  const sha256 = createHash('sha256').update(model.bytes).digest('hex');
  if (sha256 !== manifest.sha256)
    return fault('sha256_mismatch', `${basename(modelPath)} has ${sha256}, the manifest says ${manifest.sha256}`);

  const outcome = await openFile(manifest, model.bytes);
  if (outcome.kind === 'fault') return outcome;
  await outcome.model.release();
  return {
    kind: 'ok',
    name: manifest.name,
    version: manifest.version,
    format: manifest.format,
    sha256,
    rows: manifest.golden.length,
    maxError: outcome.maxError,
  };
}

async function openFile(manifest: ModelManifest, bytes: Uint8Array): Promise<OpenOutcome> {
  if (manifest.format === 'forest') return openForest(manifest, bytes);
  const runtime = loadRuntime();
  if (runtime === null) return { kind: 'fault', code: 'runtime_absent', detail: 'onnxruntime-node is not installed' };
  return openModel(runtime, manifest, bytes);
}

interface ModelPaths {
  readonly model: string;
  readonly forest: string;
  readonly manifest: string;
}

async function findModelFiles(path: string): Promise<ModelPaths> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => !/\.(?:onnx|json)$/.test(path),
  );
  const folder = isFolder ? path : dirname(path);
  const forest = join(folder, MODEL_FILES.forest);
  if (isFolder || basename(path) === MODEL_FILES.forest)
    return { model: join(folder, MODEL_FILES.onnx), forest, manifest: join(folder, 'model.json') };
  const stem = basename(path).replace(/\.(?:onnx|json)$/, '');
  return { model: join(folder, `${stem}.onnx`), forest, manifest: join(folder, `${stem}.json`) };
}

type ReadOutcome =
  | { readonly kind: 'ok'; readonly bytes: Buffer }
  | { readonly kind: 'absent' }
  | { readonly kind: 'fault'; readonly detail: string };

async function readBounded(path: string, bytesMax: number): Promise<ReadOutcome> {
  try {
    const { size } = await stat(path);
    if (size > bytesMax) return { kind: 'fault', detail: `${basename(path)} is larger than ${bytesMax} bytes` };
    return { kind: 'ok', bytes: await readFile(path) };
  } catch (error) {
    const code = fileErrorCode(error);
    if (code === 'ENOENT') return { kind: 'absent' };
    return { kind: 'fault', detail: `${basename(path)} cannot be read (${code})` };
  }
}

function fault(code: ModelFault['code'], detail: string): ModelFault {
  return { kind: 'fault', code, detail };
}
