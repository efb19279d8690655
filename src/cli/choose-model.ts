import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelSlot } from '../assets/asset-messages.ts';
import { checkModelApart } from '../assets/model-child.ts';
import { folderOfChoice, isCandidateId, readSlot, SLOT_FILES, type SlotChoice } from '../assets/model-slots.ts';
import { writeWhole } from '../state/tables/write-files.ts';
import { failure, ok, type CommandOutcome } from './command-outcome.ts';

/** As the server's own files of this folder: nothing in it is secret. */
const SLOT_FILE_MODE = 0o644;

/**
 * Makes a candidate run beside the active model. A running server loads it within seconds, and decides nothing by it. A candidate that no
 * server would load is refused here.
 */
export async function shadowModel(modelsDir: string, id: string, nowMs: number): Promise<CommandOutcome> {
  const active = await readSlot(modelsDir, 'model');
  if (active.kind === 'chosen' && active.id === id) return failure('already_active', `${id} is the active model`);
  const unfit = await whyUnfit(modelsDir, id);
  if (unfit !== null) return unfit;
  writeSlot(modelsDir, 'challenger', { id, sinceMs: nowMs });
  return ok({ id, since: Math.floor(nowMs / 1000) }, `${id} runs beside the active model and decides nothing`);
}

/** Ends the run of the candidate beside the active model. */
export async function endShadow(modelsDir: string): Promise<CommandOutcome> {
  const shadow = await readSlot(modelsDir, 'challenger');
  if (shadow.kind === 'none') return failure('no_challenger', 'no candidate runs beside the active model');
  rmSync(join(modelsDir, SLOT_FILES.challenger), { force: true });
  const id = shadow.kind === 'chosen' ? shadow.id : null;
  return ok({ id }, `${id ?? 'the candidate'} no longer runs`);
}

/** Returns why a server would not load the candidate; null if it would. */
export async function whyUnfit(modelsDir: string, id: string): Promise<CommandOutcome | null> {
  const folder = folderOfChoice(modelsDir, id);
  if (!isCandidateId(id) || statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    return failure('not_found', `there is no candidate ${id} in ${modelsDir}`);
  const checked = await checkModelApart(folder);
  return checked.kind === 'fault' ? failure(checked.code, checked.detail) : null;
}

/** Replaces the file of a slot in one step: a reader sees the old choice or the new one, never a part. */
export function writeSlot(modelsDir: string, slot: ModelSlot, { id, sinceMs, previous }: SlotChoice): void {
  const choice = { id, since: Math.floor(sinceMs / 1000), ...(previous !== undefined && { previous }) };
  writeWhole(join(modelsDir, SLOT_FILES[slot]), `${JSON.stringify(choice)}\n`, SLOT_FILE_MODE);
}
