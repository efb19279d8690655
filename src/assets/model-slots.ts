import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileErrorCode } from './asset-files.ts';
import type { ModelSlot } from './asset-messages.ts';

/** Files in the folder of models that name the candidate of a slot. Without the first, the files in the folder itself are the model. */
export const SLOT_FILES = { model: 'active.json', challenger: 'shadow.json' } as const satisfies Record<
  ModelSlot,
  string
>;
/** Folder of the candidates, in the folder of models. */
export const CANDIDATES = 'candidates';

/** Choice: such a file has one id, one time and one earlier id. */
const SLOT_FILE_BYTES_MAX = 4_096;
/** A name of one folder: never a path. */
const CANDIDATE_ID = /^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$/;

/** The content of a slot's file. */
export interface SlotChoice {
  /** Candidate of the slot; null for the files in the folder of models itself. */
  readonly id: string | null;
  /** When it was chosen, Unix ms. */
  readonly sinceMs: number;
  /** The choice before, for a rollback; absent if nothing served before. */
  readonly previous?: string | null;
}

export type SlotOutcome =
  | { readonly kind: 'none' }
  | ({ readonly kind: 'chosen' } & SlotChoice)
  | { readonly kind: 'fault'; readonly detail: string };

export function isCandidateId(text: unknown): text is string {
  return typeof text === 'string' && CANDIDATE_ID.test(text);
}

/** Returns the folder of a choice. */
export function folderOfChoice(modelsDir: string, id: string | null): string {
  return id === null ? modelsDir : join(modelsDir, CANDIDATES, id);
}

/** Reads which candidate a slot has. Never rejects: a file that is cut, too large or names no candidate is a fault. */
export async function readSlot(modelsDir: string, slot: ModelSlot): Promise<SlotOutcome> {
  const name = SLOT_FILES[slot];
  const path = join(modelsDir, name);
  try {
    const { size } = await stat(path);
    if (size > SLOT_FILE_BYTES_MAX)
      return { kind: 'fault', detail: `${name} is larger than ${SLOT_FILE_BYTES_MAX} bytes` };
    const choice = parseChoice(await readFile(path, 'utf8'));
    return choice === null ? { kind: 'fault', detail: `${name} names no candidate` } : { kind: 'chosen', ...choice };
  } catch (error) {
    const code = fileErrorCode(error);
    return code === 'ENOENT' ? { kind: 'none' } : { kind: 'fault', detail: `${name} cannot be read (${code})` };
  }
}

function parseChoice(text: string): SlotChoice | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || !('id' in value) || !('since' in value)) return null;
  const { id, since } = value;
  const previous = 'previous' in value ? value.previous : undefined;
  if ((id !== null && !isCandidateId(id)) || !Number.isSafeInteger(since)) return null;
  if (previous !== undefined && previous !== null && !isCandidateId(previous)) return null;
  return { id, sinceMs: Number(since) * 1000, ...(previous !== undefined && { previous }) };
}
