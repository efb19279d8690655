import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { MadeChoice, ModelChoiceOptions, ModelParts } from '../api/model-handlers.ts';
import type { ModelSlot } from '../assets/asset-messages.ts';
import { readActiveChoice } from '../assets/model-candidates.ts';
import { checkModelApart } from '../assets/model-child.ts';
import { folderOfChoice, isCandidateId, readSlot, SLOT_FILES, type SlotChoice } from '../assets/model-slots.ts';
import type { ModelAction } from '../contract/requests/model-requests.ts';
import type { Gate } from '../history/model-comparison.ts';
import type { Store } from '../state/feed/open-store.ts';
import { writeWhole } from '../state/tables/write-files.ts';

/** Choosing which model decides and which runs beside it, for the command line and the API. The choice of a slot is one file. */

/** As the server's own files of this folder: nothing in it is secret. */
const SLOT_FILE_MODE = 0o644;

/** Which model the files name now; null for the files in the folder of models itself, and for none. */
export type ModelChoice = Extract<MadeChoice, { readonly kind: 'chosen' }> | ModelRefusal;

export type ModelRefusal = Extract<MadeChoice, { readonly kind: 'refused' }> & {
  /** Gates of a promotion that do not hold. */
  readonly failed?: readonly Gate[];
};

/** Carries out an action of the API; promotes only if the gates hold. */
export function chooseModel(
  modelsDir: string,
  action: ModelAction,
  { id, nowMs, gates }: ModelChoiceOptions,
): Promise<ModelChoice> {
  switch (action) {
    case 'shadow':
      return setChallenger(modelsDir, id, nowMs);
    case 'end_shadow':
      return removeChallenger(modelsDir);
    case 'promote':
      return promoteCandidate(modelsDir, id, { nowMs, isForced: false, gates: () => Promise.resolve(gates) });
    case 'rollback':
      return restorePrevious(modelsDir, nowMs);
    case 'resume':
      return chooseActiveAgain(modelsDir, nowMs);
  }
}

/**
 * Returns why no model can be chosen over the API; null if one can. A model decides for all customers, so no key of one of several may
 * choose it; suspended ones, such as that of the first start, do not count.
 */
export function whyNoChoice(
  { customers }: Pick<Store, 'customers'>,
  isClustered: boolean,
): ReturnType<ModelParts['whyNoChoice']> {
  if (customers.all().filter(({ suspendedAtSeconds }) => suspendedAtSeconds === null).length > 1)
    return { code: 'key_not_allowed', detail: 'The installation has several customers: use gatehouse models.' };
  return isClustered
    ? { code: 'not_ready', detail: 'Each node of a cluster has its own folder of models: use gatehouse models.' }
    : null;
}

function refused(code: string, detail: string): ModelRefusal {
  return { kind: 'refused', code, detail };
}

/**
 * Makes a candidate run beside the active model. A running server loads it within seconds, and decides nothing by it. A candidate that no
 * server would load is refused here.
 */
export async function setChallenger(modelsDir: string, id: string, nowMs: number): Promise<ModelChoice> {
  const active = await readSlot(modelsDir, 'model');
  if (active.kind === 'chosen' && active.id === id) return refused('already_active', `${id} is the active model`);
  const unfit = await whyUnfit(modelsDir, id);
  if (unfit !== null) return unfit;
  writeSlot(modelsDir, 'challenger', { id, sinceMs: nowMs });
  return { kind: 'chosen', id, previous: null, noted: null };
}

/** Ends the run of the candidate beside the active model. `id`: the one that ran. */
export async function removeChallenger(modelsDir: string): Promise<ModelChoice> {
  const shadow = await readSlot(modelsDir, 'challenger');
  if (shadow.kind === 'none') return refused('no_challenger', 'no candidate runs beside the active model');
  rmSync(join(modelsDir, SLOT_FILES.challenger), { force: true });
  return { kind: 'chosen', id: shadow.kind === 'chosen' ? shadow.id : null, previous: null, noted: null };
}

/** Returns why a server would not load the candidate; null if it would. */
async function whyUnfit(modelsDir: string, id: string): Promise<ModelRefusal | null> {
  const folder = folderOfChoice(modelsDir, id);
  if (!isCandidateId(id) || statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    return refused('not_found', `there is no candidate ${id} in ${modelsDir}`);
  const checked = await checkModelApart(folder);
  return checked.kind === 'fault' ? refused(checked.code, checked.detail) : null;
}

/** Replaces the file of a slot in one step: a reader sees the old choice or the new one, never a part. */
export function writeSlot(modelsDir: string, slot: ModelSlot, { id, sinceMs, previous }: SlotChoice): void {
  const choice = { id, since: Math.floor(sinceMs / 1000), ...(previous !== undefined && { previous }) };
  writeWhole(join(modelsDir, SLOT_FILES[slot]), `${JSON.stringify(choice)}\n`, SLOT_FILE_MODE);
}

/**
 * Makes the challenger, or with `isForced` any candidate, the active model. Refused unless every gate of the comparison holds; `isForced`
 * is a decision of the operator. The model before stays where it is, for `restorePrevious`.
 */
export async function promoteCandidate(
  modelsDir: string,
  id: string,
  options: { readonly nowMs: number; readonly isForced: boolean; readonly gates: () => Promise<readonly Gate[]> },
): Promise<ModelChoice> {
  const { nowMs, isForced } = options;
  const active = await readSlot(modelsDir, 'model');
  if (active.kind === 'fault') return refused('slot_invalid', active.detail);
  if (active.kind === 'chosen' && active.id === id) return refused('already_active', `${id} is the active model`);
  const unfit = await whyUnfit(modelsDir, id);
  if (unfit !== null) return unfit;
  const shadow = await readSlot(modelsDir, 'challenger');
  const isChallenger = shadow.kind === 'chosen' && shadow.id === id;
  const failed = isChallenger ? (await options.gates()).filter(({ holds }) => !holds) : [];
  if (!isForced) {
    if (!isChallenger) return refused('not_challenger', `${id} has not run beside the active model`);
    if (failed.length > 0)
      return { ...refused('gates_fail', failed.map(({ name, detail }) => `${name}: ${detail}`).join('; ')), failed };
  }
  const previous = active.kind === 'chosen' ? active.id : null;
  writeSlot(modelsDir, 'model', { id, sinceMs: nowMs, previous });
  if (isChallenger) rmSync(join(modelsDir, SLOT_FILES.challenger), { force: true });
  const overruled = isChallenger ? failed.map(({ name }) => name) : ['not_challenger'];
  return { kind: 'chosen', id, previous, noted: { how: 'promoted', id, previous, overruled } };
}

/** Makes the model before the last promotion active again. A second call undoes the first. */
export async function restorePrevious(modelsDir: string, nowMs: number): Promise<ModelChoice> {
  const active = await readSlot(modelsDir, 'model');
  if (active.kind === 'fault') return refused('slot_invalid', active.detail);
  if (active.kind === 'none' || active.previous === undefined)
    return refused('nothing_before', 'no model was promoted before');
  const { id: previous, previous: id } = active;
  const unfit = id === null ? null : await whyUnfit(modelsDir, id);
  if (unfit !== null) return unfit;
  writeSlot(modelsDir, 'model', { id, sinceMs: nowMs, previous });
  return { kind: 'chosen', id, previous, noted: { how: 'rolled_back', id, previous, overruled: [] } };
}

/** Makes the active model count again where its circuit breaker has silenced it: it is chosen once more. */
export async function chooseActiveAgain(modelsDir: string, nowMs: number): Promise<ModelChoice> {
  const active = await readSlot(modelsDir, 'model');
  if (active.kind === 'fault') return refused('slot_invalid', active.detail);
  const { id, ...before } = active.kind === 'chosen' ? active : { id: null };
  if ((await readActiveChoice(modelsDir)) === null) return refused('no_model', `no model is active in ${modelsDir}`);
  writeSlot(modelsDir, 'model', { ...before, id, sinceMs: nowMs });
  return { kind: 'chosen', id, previous: id, noted: { how: 'resumed', id, previous: id, overruled: [] } };
}
