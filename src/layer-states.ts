import type { DecisionRecorder } from './observe/decisions.ts';
import type { LayerStatus } from './pools/layer-messages.ts';
import type { DecisionLog } from './store/decision-log.ts';

/** The states of all layers, as `/readyz` and the metrics show them. */

export type LayerStates = Readonly<Record<string, LayerStatus>>;

/** How long after a failed read the store counts as broken. */
const STORE_FAILED_MS = 10_000;

export function storeStatus(
  journal: { readonly broken: string | null },
  recorder: Pick<DecisionRecorder, 'storeFailedAtMs'>,
  decisions: Pick<DecisionLog, 'broken'>,
): LayerStatus {
  if (journal.broken !== null) return broken('request ids cannot be written to the journal');
  if (performance.now() - recorder.storeFailedAtMs < STORE_FAILED_MS) {
    return broken('score workers cannot read the store');
  }
  if (decisions.broken !== null) return broken('the log of decisions cannot be written');
  return { state: 'ok', version: 'lmdb', detail: '' };
}

function broken(detail: string): LayerStatus {
  return { state: 'broken', version: null, detail };
}

/** Locations come with the service, so that their absence counts too; of the others only what is set up and cannot run. */
export function isDegraded(states: LayerStates): boolean {
  return states['geoip_city']?.state !== 'ok' || Object.values(states).some(({ state }) => state === 'broken');
}

/** Layer → the word for its state. */
export function stateNames(states: LayerStates): Readonly<Record<string, LayerStatus['state']>> {
  return Object.fromEntries(Object.entries(states).map(([name, { state }]) => [name, state]));
}
