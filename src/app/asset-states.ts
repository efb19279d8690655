import type { DecisionRecorder } from '../observe/decision-recorder.ts';
import type { Reading } from '../observe/reading.ts';
import { type AssetStatus, MODEL_SLOTS, type ModelSlot } from '../assets/asset-messages.ts';
import type { Assets } from '../assets/assets.ts';
import { joined } from '../assets/settling.ts';
import type { StoreNotice } from '../state/repair/ensure-usable.ts';
import type { DecisionLog } from '../history/decision-log.ts';
import { readVelocityState } from '../cluster/velocity/velocity-state.ts';
import type { VelocityMemory } from '../velocity/memory.ts';
import { StreamMarks } from '../velocity/stream-marks.ts';

/** The states of all layers, as `/readyz` and the metrics show them. */

export type AssetStates = Readonly<Record<string, AssetStatus>>;

/** How long the store counts as broken after a failed read. */
const STORE_FAILED_MS = 10_000;

export function storeStatus(
  journal: { readonly broken: string | null },
  recorder: Pick<DecisionRecorder, 'storeFailedAtMs'>,
  decisions: Pick<DecisionLog, 'broken'>,
  repairs: readonly StoreNotice[],
): AssetStatus {
  if (journal.broken !== null) return broken('request ids cannot be written to the journal');
  if (performance.now() - recorder.storeFailedAtMs < STORE_FAILED_MS) {
    return broken('score workers cannot read the store');
  }
  if (decisions.broken !== null) return broken('the log of decisions cannot be written');
  return { state: 'ok', version: 'lmdb', detail: describeRepairs(repairs) };
}

/** The exchange of events with the other nodes. */
export function velocityStatus({ marks }: VelocityMemory): AssetStatus {
  const { isBroken, detail } = readVelocityState(new StreamMarks(marks));
  return isBroken ? broken(detail) : { state: 'ok', version: null, detail };
}

/** The addresses that customers send. They are theirs to mend, so they never make the service degraded. */
export function addressStatus(warnings: number): AssetStatus {
  const who = warnings === 1 ? '1 customer sends' : `${warnings} customers send`;
  const detail = `${who} over 80 % of an hour's decisions with one address, or with no public one`;
  return { state: 'ok', version: null, detail: warnings === 0 ? '' : detail };
}

/** Returns the public text about what the start lost; the log has the details, with paths. */
function describeRepairs(repairs: readonly StoreNotice[]): string {
  if (repairs.length === 0) return '';
  const codes = repairs.map(({ code }) => code).join(', ');
  return `this start did not find the store as the last one left it, see the log: ${codes}`;
}

function broken(detail: string): AssetStatus {
  return { state: 'broken', version: null, detail };
}

/**
 * Returns whether the service is degraded. Locations are part of an installation that decides, so their absence counts as well; other
 * layers count only if they are configured and cannot run.
 */
export function isDegraded(states: AssetStates): boolean {
  return states['geoip_city']?.state === 'absent' || Object.values(states).some(({ state }) => state === 'broken');
}

/** Returns layer → name of its state. */
export function stateNames(states: AssetStates): Readonly<Record<string, AssetStatus['state']>> {
  return Object.fromEntries(Object.entries(states).map(([name, { state }]) => [name, state]));
}

/** Returns the state of a model's slot on this node. */
export function modelStatus(deciding: { readonly layers: Assets } | null, slot: ModelSlot): AssetStatus {
  if (deciding === null) return { state: 'absent', version: null, detail: 'this node does not decide' };
  return slot === 'model' ? deciding.layers.status().model : deciding.layers.challenger();
}

/** The states of the assets. A model that its circuit breaker silences works: it is a risk, and makes nothing degraded. */
export function layersWithBreaker(layers: Assets, breaker: string): AssetStates {
  const { model, ...others } = layers.status();
  return { ...others, model: { ...model, detail: joined([model.detail, breaker]) } };
}

/** Metrics of the active model and the challenger. */
export function modelReadings(layers: Assets): readonly Reading[] {
  const read = (): readonly (readonly [string, AssetStatus])[] =>
    MODEL_SLOTS.map((slot) => [slot === 'model' ? 'active' : slot, modelStatus({ layers }, slot)]);
  return [
    {
      name: 'gatehouse_model_state',
      help: 'State of a model: 1 ok, 0 absent, -1 broken.',
      kind: 'levels',
      labels: ['slot'],
      read: () => read().map(([slot, { state }]) => ({ labels: [slot], count: LEVELS[state] })),
    },
    {
      name: 'gatehouse_model_refused',
      help: 'Whether newer files of a model were rejected: 1 while they are present, whatever runs instead.',
      kind: 'levels',
      labels: ['slot'],
      read: () => read().map(([slot, { refused }]) => ({ labels: [slot], count: refused === true ? 1 : 0 })),
    },
  ];
}

const LEVELS = { ok: 1, absent: 0, broken: -1 } as const satisfies Record<AssetStatus['state'], number>;

/** Metrics of the layers. */
export function layerReadings(
  read: () => Readonly<Record<string, Pick<AssetStatus, 'state' | 'refused'>>>,
): readonly Reading[] {
  return [
    {
      name: 'gatehouse_layer_state',
      help: 'State of a layer: 1 ok, 0 absent, -1 broken.',
      kind: 'levels',
      labels: ['layer'],
      read: () => Object.entries(read()).map(([layer, { state }]) => ({ labels: [layer], count: LEVELS[state] })),
    },
    {
      name: 'gatehouse_layer_refused',
      help: 'Whether a file of the layer was rejected: 1 while it is present, whatever is used instead.',
      kind: 'levels',
      labels: ['layer'],
      read: () => Object.entries(read()).map(([layer, { refused }]) => ({ labels: [layer], count: refused ? 1 : 0 })),
    },
  ];
}
