import type { HostingOutcome } from '../risk/signals/hosting-networks.ts';
import type { AssetStatus } from './asset-messages.ts';

/**
 * Choice: hosting companies add large blocks every few months and seldom give one up, so an older table finds less, but not wrong networks.
 */
const OLD_AFTER_MS = 365 * 86_400_000;

/**
 * Returns the status of the layer `hosting_networks`. `replaced`: a database of networks or of anonymisers is in use, and the table is not
 * queried.
 */
export function hostingStatus(outcome: HostingOutcome, replaced: boolean, nowMs: number): AssetStatus {
  if (outcome.kind === 'fault') {
    return {
      state: 'broken',
      version: null,
      detail: `the built-in table was refused: ${outcome.detail}`,
      refused: true,
    };
  }
  const { day, ranges } = outcome.table;
  const version = `built-in ${day}, ${ranges} networks`;
  if (replaced) return { state: 'ok', version, detail: 'not used: a database replaces it', refused: false };
  const old = nowMs - Date.parse(day) > OLD_AFTER_MS;
  return { state: 'ok', version, detail: old ? 'over 12 months old: newer networks are missed' : '', refused: false };
}
