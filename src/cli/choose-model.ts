import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelSlot } from '../assets/asset-messages.ts';
import { readActiveChoice } from '../assets/model-candidates.ts';
import { checkModelApart } from '../assets/model-child.ts';
import { folderOfChoice, isCandidateId, readSlot, SLOT_FILES, type SlotChoice } from '../assets/model-slots.ts';
import type { ChangeOf } from '../state/feed/changes.ts';
import type { Store } from '../state/feed/open-store.ts';
import { writeWhole } from '../state/tables/write-files.ts';
import type { ChangeDoor } from './change-door.ts';
import { failure, failureOf, ok, type CommandOutcome } from './command-outcome.ts';
import { gateLine, readComparison } from './compare-models.ts';

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

/**
 * Makes the challenger, or with `isForced` any candidate, the active model. Refused unless every gate holds; `isForced` is a decision of
 * the operator. The model before stays where it is, for `rollbackModel`.
 */
export async function promoteModel(
  store: Store,
  door: Pick<ChangeDoor, 'commit'>,
  modelsDir: string,
  id: string,
  { nowMs, isForced }: { readonly nowMs: number; readonly isForced: boolean },
): Promise<CommandOutcome> {
  const active = await readSlot(modelsDir, 'model');
  if (active.kind === 'fault') return failure('slot_invalid', active.detail);
  if (active.kind === 'chosen' && active.id === id) return failure('already_active', `${id} is the active model`);
  const unfit = await whyUnfit(modelsDir, id);
  if (unfit !== null) return unfit;
  const shadow = await readSlot(modelsDir, 'challenger');
  const isChallenger = shadow.kind === 'chosen' && shadow.id === id;
  const gates = isChallenger ? ((await readComparison(store, modelsDir, null, nowMs))?.gates ?? []) : [];
  const failed = gates.filter(({ holds }) => !holds);
  if (!isForced) {
    if (!isChallenger)
      return failure('not_challenger', `${id} has not run beside the active model; --yes promotes it anyway`);
    if (failed.length > 0) return failure('gates_fail', `${failed.map(gateLine).join('\n')}\n--yes promotes it anyway`);
  }
  const previous = active.kind === 'chosen' ? active.id : null;
  writeSlot(modelsDir, 'model', { id, sinceMs: nowMs, previous });
  if (isChallenger) rmSync(join(modelsDir, SLOT_FILES.challenger), { force: true });
  const overruled = isChallenger ? failed.map(({ name }) => name) : ['not_challenger'];
  const words = `${id} is the active model; models rollback returns to ${previous ?? 'the one before'}`;
  return noted(door, { how: 'promoted', id, previous, overruled }, nowMs, ok({ id, previous }, words));
}

/** Makes the model before the last promotion active again. A second rollback undoes the first. */
export async function rollbackModel(
  door: Pick<ChangeDoor, 'commit'>,
  modelsDir: string,
  nowMs: number,
): Promise<CommandOutcome> {
  const active = await readSlot(modelsDir, 'model');
  if (active.kind === 'fault') return failure('slot_invalid', active.detail);
  if (active.kind === 'none' || active.previous === undefined)
    return failure('nothing_before', 'no model was promoted before');
  const { id, previous } = active;
  if (previous !== null) {
    const unfit = await whyUnfit(modelsDir, previous);
    if (unfit !== null) return unfit;
  }
  writeSlot(modelsDir, 'model', { id: previous, sinceMs: nowMs, previous: id });
  return noted(
    door,
    { how: 'rolled_back', id: previous, previous: id, overruled: [] },
    nowMs,
    ok({ id: previous, previous: id }, `${previous ?? 'the model in the folder itself'} is active again`),
  );
}

/** Makes the active model count again where its circuit breaker has silenced it: it is chosen once more. */
export async function resumeModel(
  door: Pick<ChangeDoor, 'commit'>,
  modelsDir: string,
  nowMs: number,
): Promise<CommandOutcome> {
  const active = await readSlot(modelsDir, 'model');
  if (active.kind === 'fault') return failure('slot_invalid', active.detail);
  const { id, ...before } = active.kind === 'chosen' ? active : { id: null };
  if ((await readActiveChoice(modelsDir)) === null) return failure('no_model', `no model is active in ${modelsDir}`);
  writeSlot(modelsDir, 'model', { ...before, id, sinceMs: nowMs });
  return noted(
    door,
    { how: 'resumed', id, previous: id, overruled: [] },
    nowMs,
    ok({ id, since: Math.floor(nowMs / 1000) }, `${id ?? 'the model in the folder itself'} counts for every customer`),
  );
}

/** Writes the entry of the audit log, after the choice: the outcome is a failure if there is none, while the choice stands. */
async function noted(
  door: Pick<ChangeDoor, 'commit'>,
  chosen: Omit<ChangeOf<'model.chosen'>, 'kind'>,
  nowMs: number,
  outcome: CommandOutcome,
): Promise<CommandOutcome> {
  const written = await door.commit({ kind: 'model.chosen', ...chosen }, { by: 'cli', nowMs });
  return written.kind === 'fault' ? failureOf(written) : outcome;
}
