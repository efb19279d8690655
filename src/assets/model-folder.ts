import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readShared, fileSignatureOf } from './asset-files.ts';
import { MODEL_BYTES_MAX, MODEL_FILES } from './asset-messages.ts';
import type { ModelContent } from './asset-messages.ts';
import { checkModelApart } from './model-child.ts';
import { Settling } from './settling.ts';
import type { AssetLog } from './settling.ts';

/** The model of a folder: the last manifest and model file that passed its check, whatever is in the folder now. */
export class ModelFolder {
  readonly #folder: string;
  readonly #log: AssetLog;
  readonly #settling = new Settling(true);
  #serves = false;
  #published = '';
  #refusal = '';

  constructor(folder: string, log: AssetLog) {
    this.#folder = folder;
    this.#log = log;
  }

  notes(): readonly string[] {
    return this.#serves && this.#refusal !== '' ? [this.#refusal] : [];
  }

  /** Returns the new content, or null if nothing changes for the workers. */
  async look(next: () => number): Promise<ModelContent | null> {
    const signature = await this.#signature();
    if (!this.#settling.see(signature) && this.#published !== '') return null;
    if (signature === null) return this.#none('absent', 'no model: rules decide alone', next);

    const check = await checkModelApart(this.#folder);
    const name = MODEL_FILES[check.kind === 'ok' ? check.format : 'onnx'];
    const read = await readShared(join(this.#folder, name), name, MODEL_BYTES_MAX);
    // The check limits its size.
    const manifest =
      check.kind === 'ok' ? await readFile(join(this.#folder, 'model.json'), 'utf8').catch(() => '') : '';
    // The checked and the loaded files are the same only if neither changed in between.
    if ((await this.#signature()) !== signature) {
      this.#settling.unsettle();
      return this.#published === '' ? this.#none('refused', 'the model is being written', next) : null;
    }
    if (check.kind === 'ok' && read.kind === 'ok') {
      this.#serves = true;
      this.#refusal = '';
      this.#published = `ready ${signature}`;
      return {
        kind: 'ready',
        generation: next(),
        version: `${check.name} ${check.version}`,
        manifest,
        file: { name: read.name, bytes: read.bytes },
      };
    }
    if (check.kind === 'fault' && check.code === 'runtime_absent') return this.#none('absent', check.detail, next);
    const reason =
      check.kind === 'fault'
        ? `${check.code}: ${check.detail}`
        : read.kind === 'fault'
          ? read.detail
          : 'it changed while it was read';
    this.#refusal = `the model was refused: ${reason}`;
    this.#log.warn({ detail: reason }, 'model refused');
    return this.#serves ? null : this.#none('refused', this.#refusal, next);
  }

  #none(kind: 'absent' | 'refused', detail: string, next: () => number): ModelContent | null {
    const published = `${kind} ${detail}`;
    if (this.#published === published) return null;
    this.#serves = false;
    this.#published = published;
    return { kind, generation: next(), detail };
  }

  /** Returns the signature of all files of a model together; null if none exists. */
  async #signature(): Promise<string | null> {
    const names = [...Object.values(MODEL_FILES), 'model.json'];
    const found = await Promise.all(names.map((name) => fileSignatureOf(join(this.#folder, name))));
    return found.every((one) => one === null) ? null : found.join(' ');
  }
}
