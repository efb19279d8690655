import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readShared, fileSignatureOf } from './asset-files.ts';
import { MODEL_BYTES_MAX, MODEL_FILES } from './asset-messages.ts';
import type { ModelContent, ModelSlot } from './asset-messages.ts';
import { checkModelApart } from './model-child.ts';
import { folderOfChoice, readSlot } from './model-slots.ts';
import { Settling } from './settling.ts';
import type { AssetLog } from './settling.ts';

const TEXTS = {
  model: { absent: 'no model: rules decide alone', refused: 'the model was refused', log: 'model refused' },
  challenger: {
    absent: 'no challenger',
    refused: 'the challenger was refused',
    log: 'challenger model refused',
  },
} as const satisfies Record<ModelSlot, object>;

/** Where the files of a slot are; null without any. */
type Wanted = { readonly id: string | null; readonly folder: string } | null;

/** The model of one slot: the last manifest and model file that passed its check, whatever is in the folder now. */
export class ModelFolder {
  readonly #modelsDir: string;
  readonly #slot: ModelSlot;
  readonly #log: AssetLog;
  readonly #settling = new Settling(true);
  #serves = false;
  #published = '';
  #refusal = '';

  constructor(modelsDir: string, slot: ModelSlot, log: AssetLog) {
    this.#modelsDir = modelsDir;
    this.#slot = slot;
    this.#log = log;
  }

  notes(): readonly string[] {
    return this.#serves && this.#refusal !== '' ? [this.#refusal] : [];
  }

  /** Returns the new content, or null if nothing changes for the workers. */
  async look(next: () => number): Promise<ModelContent | null> {
    const choice = await readSlot(this.#modelsDir, this.#slot);
    const wanted = this.#wanted(choice.kind === 'chosen' ? choice : null);
    const signature = choice.kind === 'fault' ? choice.detail : await signatureOf(wanted);
    if (!this.#settling.see(signature) && this.#published !== '') return null;
    if (choice.kind === 'fault') return this.#refuse(choice.detail, next);
    if (signature === null || wanted === null) {
      this.#refusal = '';
      return this.#none('absent', TEXTS[this.#slot].absent, next);
    }
    return this.#open(wanted, signature, next);
  }

  async #open(wanted: NonNullable<Wanted>, signature: string, next: () => number): Promise<ModelContent | null> {
    const check = await checkModelApart(wanted.folder);
    if (check.kind === 'fault' && check.code === 'runtime_absent') return this.#none('absent', check.detail, next);
    const name = MODEL_FILES[check.kind === 'ok' ? check.format : 'onnx'];
    // The check limits their sizes.
    const read = check.kind === 'ok' ? await readShared(join(wanted.folder, name), name, MODEL_BYTES_MAX) : null;
    const manifest =
      check.kind === 'ok' ? await readFile(join(wanted.folder, 'model.json'), 'utf8').catch(() => '') : '';
    // The checked and the loaded files are the same only if neither changed in between.
    if ((await signatureOf(wanted)) !== signature) {
      this.#settling.unsettle();
      return this.#published === '' ? this.#none('refused', 'the model is being written', next) : null;
    }
    if (check.kind === 'fault') return this.#refuse(`${check.code}: ${check.detail}`, next);
    if (read?.kind !== 'ok')
      return this.#refuse(read?.kind === 'fault' ? read.detail : 'it changed while it was read', next);
    this.#serves = true;
    this.#refusal = '';
    this.#published = `ready ${signature}`;
    const isChallenger = this.#slot === 'challenger';
    return {
      kind: 'ready',
      generation: next(),
      // Decisions name their challenger by its id.
      version: isChallenger && wanted.id !== null ? wanted.id : `${check.name} ${check.version}`,
      manifest,
      file: { name: read.name, bytes: read.bytes },
    };
  }

  #wanted(choice: { readonly id: string | null } | null): Wanted {
    const id = choice?.id ?? null;
    if (id === null && this.#slot === 'challenger') return null;
    return { id, folder: folderOfChoice(this.#modelsDir, id) };
  }

  /** Keeps what serves, and reports why the new files do not. */
  #refuse(reason: string, next: () => number): ModelContent | null {
    const { refused, log } = TEXTS[this.#slot];
    this.#refusal = `${refused}: ${reason}`;
    this.#log.warn({ detail: reason }, log);
    return this.#serves ? null : this.#none('refused', this.#refusal, next);
  }

  #none(kind: 'absent' | 'refused', detail: string, next: () => number): ModelContent | null {
    const published = `${kind} ${detail}`;
    if (this.#published === published) return null;
    this.#serves = false;
    this.#published = published;
    return { kind, generation: next(), detail };
  }
}

/** Returns the signature of all files of a model together; null if there is nothing to load. A candidate that is gone is a fault. */
async function signatureOf(wanted: Wanted): Promise<string | null> {
  if (wanted === null) return null;
  const names = [...Object.values(MODEL_FILES), 'model.json'];
  const found = await Promise.all(names.map((name) => fileSignatureOf(join(wanted.folder, name))));
  if (wanted.id === null) return found.every((one) => one === null) ? null : found.join(' ');
  return `${wanted.id} ${found.join(' ')}`;
}
