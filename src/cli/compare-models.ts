import { readModels, type ModelsView } from '../assets/model-candidates.ts';
import {
  compareDecision,
  type ComparedShares,
  type Comparison,
  type Gate,
  ModelComparison,
  promotionGates,
  showComparison,
} from '../history/model-comparison.ts';
import { readDecisions } from '../history/open-decision-log.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { ShareInterval } from '../kernel/wilson.ts';
import type { Store } from '../state/feed/open-store.ts';
import { failure, ok, type CommandOutcome } from './command-outcome.ts';

export interface ReadComparison {
  readonly id: string;
  readonly sinceMs: number;
  readonly comparison: Comparison;
  readonly gates: readonly Gate[];
  readonly unreadableBlocks: number;
}

const NO_STATUS = { state: 'absent', version: null, detail: '' } as const;

/** Returns the models as their files say, without a server. */
export function readModelFiles(modelsDir: string): Promise<ModelsView> {
  return readModels(modelsDir, () => NO_STATUS);
}

/**
 * Compares the challenger with the active model on a customer's decisions, or those of all (null), since it runs. Works beside a running
 * server; null without a challenger.
 */
export async function readComparison(
  store: Store,
  modelsDir: string,
  customer: CustomerNumber | null,
  nowMs: number,
): Promise<ReadComparison | null> {
  const { slots, candidates } = await readModelFiles(modelsDir);
  const { id, sinceMs } = slots.challenger;
  if (id === null || sinceMs === null) return null;
  const comparison = new ModelComparison();
  const reading = readDecisions(store, { customer, sinceMs }, (owner, record) => {
    compareDecision(comparison, store, { customer: owner, id }, record);
  });
  let step = reading.next();
  while (step.done !== true) {
    // The command can be stopped between two blocks.
    await new Promise(setImmediate);
    step = reading.next();
  }
  const result = comparison.result();
  const isShadowOnly = candidates.find((one) => one.id === id)?.isShadowOnly ?? false;
  const gates = promotionGates(result, { shadowMs: nowMs - sinceMs, isShadowOnly });
  return { id, sinceMs, comparison: result, gates, unreadableBlocks: step.value };
}

/** Prints the comparison over a customer, or over all (null). */
export async function compareModels(
  store: Store,
  modelsDir: string,
  customerId: string | null,
  nowMs: number,
): Promise<CommandOutcome> {
  const wanted = customerId === null ? null : store.customers.findById(customerId);
  if (customerId !== null && wanted === null) return failure('not_found', `there is no customer ${customerId}`);
  const read = await readComparison(store, modelsDir, wanted?.number ?? null, nowMs);
  if (read === null) return failure('no_challenger', 'no candidate runs beside the active model: see models shadow');
  const { id, sinceMs, comparison, gates, unreadableBlocks } = read;
  const { decisions, sessions, alarms, catch: caught, catchBySource, unlabelled } = comparison;
  const json = {
    id,
    since: Math.floor(sinceMs / 1000),
    ...showComparison(comparison),
    gates,
    unreadable_blocks: unreadableBlocks,
  };
  const text = [
    `${id} against the active model, on ${decisions} decisions of ${sessions} sessions since ${new Date(sinceMs).toISOString()}`,
    lineOf('false alarms', alarms),
    lineOf('fraud caught', caught),
    ...catchBySource.map((one) => lineOf(`  by ${one.source}`, one)),
    `without a label: only the challenger stops ${unlabelled.onlyChallenger}, only the active model ${unlabelled.onlyActive} of ${unlabelled.sessions} sessions`,
    ...gates.map(gateLine),
  ];
  return ok(json, text.join('\n'), unreadableBlocks > 0);
}

export function gateLine({ name, holds, detail }: Gate): string {
  return `${holds ? 'holds' : 'fails'}  ${name}: ${detail}`;
}

function lineOf(what: string, { active, challenger }: ComparedShares): string {
  return `${what}: active ${shareText(active)}, challenger ${shareText(challenger)}`;
}

function shareText({ part, of, share, low, high }: ShareInterval): string {
  if (share === null || low === null || high === null) return 'none known';
  return `${part} of ${of} (${percent(share)} %, ${percent(low)} to ${percent(high)})`;
}

function percent(share: number): string {
  return (share * 100).toFixed(1);
}
