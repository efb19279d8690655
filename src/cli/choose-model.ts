import {
  chooseActiveAgain,
  type ModelChoice,
  promoteCandidate,
  removeChallenger,
  restorePrevious,
  setChallenger,
} from '../app/model-choice.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { ChangeDoor } from './change-door.ts';
import { failure, failureOf, ok, type CommandOutcome } from './command-outcome.ts';
import { gateLine, readComparison } from './compare-models.ts';

/** The commands that choose a model; each prints what was chosen. */

type Door = Pick<ChangeDoor, 'commit'>;

export async function shadowModel(modelsDir: string, id: string, nowMs: number): Promise<CommandOutcome> {
  const choice = await setChallenger(modelsDir, id, nowMs);
  if (choice.kind === 'refused') return failure(choice.code, choice.detail);
  return ok({ id, since: Math.floor(nowMs / 1000) }, `${id} runs beside the active model and decides nothing`);
}

export async function endShadow(modelsDir: string): Promise<CommandOutcome> {
  const choice = await removeChallenger(modelsDir);
  if (choice.kind === 'refused') return failure(choice.code, choice.detail);
  return ok({ id: choice.id }, `${choice.id ?? 'the candidate'} no longer runs`);
}

export async function promoteModel(
  store: Store,
  door: Door,
  modelsDir: string,
  id: string,
  { nowMs, isForced }: { readonly nowMs: number; readonly isForced: boolean },
): Promise<CommandOutcome> {
  const gates = async () => (await readComparison(store, modelsDir, null, nowMs))?.gates ?? [];
  const choice = await promoteCandidate(modelsDir, id, { nowMs, isForced, gates });
  const words = (previous: string | null): string =>
    `${id} is the active model; models rollback returns to ${previous ?? 'the one before'}`;
  if (choice.kind !== 'refused') return noted(door, choice, nowMs, ok(shown(choice), words(choice.previous)));
  const { code, detail, failed } = choice;
  if (failed !== undefined) return failure(code, `${failed.map(gateLine).join('\n')}\n--yes promotes it anyway`);
  return failure(code, code === 'not_challenger' ? `${detail}; --yes promotes it anyway` : detail);
}

export async function rollbackModel(door: Door, modelsDir: string, nowMs: number): Promise<CommandOutcome> {
  const choice = await restorePrevious(modelsDir, nowMs);
  if (choice.kind === 'refused') return failure(choice.code, choice.detail);
  const words = `${choice.id ?? 'the model in the folder itself'} is active again; another models rollback undoes this`;
  return noted(door, choice, nowMs, ok(shown(choice), words));
}

export async function resumeModel(door: Door, modelsDir: string, nowMs: number): Promise<CommandOutcome> {
  const choice = await chooseActiveAgain(modelsDir, nowMs);
  if (choice.kind === 'refused') return failure(choice.code, choice.detail);
  const { id } = choice;
  const words = `${id ?? 'the model in the folder itself'} counts for every customer`;
  return noted(door, choice, nowMs, ok({ id, since: Math.floor(nowMs / 1000) }, words));
}

type Chosen = Extract<ModelChoice, { readonly kind: 'chosen' }>;

function shown({ id, previous }: Chosen): object {
  return { id, previous };
}

/** Writes the entry of the audit log, after the choice: the outcome is a failure if there is none, while the choice stands. */
async function noted(door: Door, choice: Chosen, nowMs: number, outcome: CommandOutcome): Promise<CommandOutcome> {
  if (choice.noted === null) return outcome;
  const written = await door.commit({ kind: 'model.chosen', ...choice.noted }, { by: 'cli', nowMs });
  return written.kind === 'fault' ? failureOf(written) : outcome;
}
