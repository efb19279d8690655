import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MODEL_BYTES_MAX } from '../assets/asset-messages.ts';
import type { ModelCheck, ModelFault } from '../assets/asset-messages.ts';
import { parseManifest } from './model-manifest.ts';
import { loadRuntime, openModel } from './model-session.ts';

/** Choice: a manifest consists mostly of its golden rows. */
const MANIFEST_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Checks a model in this process: manifest, checksum, columns, loading, golden rows. Never rejects. A corrupt file may end the process or
 * block it, so the server and the command line run it in a child process (`checkModelApart`).
 *
 * @param path a folder with `model.onnx` and `model.json`, or one of the two files.
 */
export async function checkModel(path: string): Promise<ModelCheck> {
  const files = await findModelFiles(path);

  const manifestText = await readBounded(files.manifest, MANIFEST_BYTES_MAX);
  if (manifestText.kind === 'absent') return fault('manifest_missing', `${basename(files.manifest)} is not there`);
  if (manifestText.kind === 'fault') return fault('manifest_invalid', manifestText.detail);
  const parsed = parseManifest(manifestText.bytes.toString('utf8'));
  if (parsed.kind === 'fault') return parsed;
  const { manifest } = parsed;

  const model = await readBounded(files.model, MODEL_BYTES_MAX);
  if (model.kind === 'absent') return fault('model_missing', `${basename(files.model)} is not there`);
  if (model.kind === 'fault') return fault('load_failed', model.detail);
  const sha256 = createHash('sha256').update(model.bytes).digest('hex');
  if (sha256 !== manifest.sha256)
    return fault('sha256_mismatch', `${basename(files.model)} has ${sha256}, the manifest says ${manifest.sha256}`);

  const runtime = loadRuntime();
  if (runtime === null) return fault('runtime_absent', 'onnxruntime-node is not installed');
  const outcome = await openModel(runtime, manifest, model.bytes);
  if (outcome.kind === 'fault') return outcome;
  await outcome.model.release();
  return {
    kind: 'ok',
    name: manifest.name,
    version: manifest.version,
    sha256,
    rows: manifest.golden.length,
    maxError: outcome.maxError,
  };
}

async function findModelFiles(path: string): Promise<{ readonly model: string; readonly manifest: string }> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => !/\.(?:onnx|json)$/.test(path),
  );
  if (isFolder) return { model: join(path, 'model.onnx'), manifest: join(path, 'model.json') };
  const folder = dirname(path);
  const stem = basename(path).replace(/\.(?:onnx|json)$/, '');
  return { model: join(folder, `${stem}.onnx`), manifest: join(folder, `${stem}.json`) };
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
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    if (code === 'ENOENT') return { kind: 'absent' };
    return { kind: 'fault', detail: `${basename(path)} cannot be read (${code})` };
  }
}

function fault(code: ModelFault['code'], detail: string): ModelFault {
  return { kind: 'fault', code, detail };
}
