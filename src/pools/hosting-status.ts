import type { HostingOutcome } from '../core/hosting-networks.ts';
import type { LayerStatus } from './layer-messages.ts';

/** Choice: hosting companies add large blocks every few months and seldom give one away, so an older table finds less, not worse. */
const OLD_AFTER_MS = 365 * 86_400_000;

/** The layer `hosting_networks`. `replaced`: a database of networks or of anonymisers serves, and the table is not asked. */
export function hostingStatus(outcome: HostingOutcome, replaced: boolean, nowMs: number): LayerStatus {
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
  if (replaced) return { state: 'ok', version, detail: 'not asked: a database serves in its place', refused: false };
  const old = nowMs - Date.parse(day) > OLD_AFTER_MS;
  return { state: 'ok', version, detail: old ? 'over 12 months old: newer networks are missed' : '', refused: false };
}
