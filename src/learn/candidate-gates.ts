import { shareWithInterval } from '../kernel/wilson.ts';
import type { OperatingRow } from './operating-table.ts';

/** What a candidate should hold on its latest rows before it runs beside the rules. */
export interface CandidateGate {
  readonly name: 'alarms' | 'catch' | 'latest_frauds' | 'training';
  readonly holds: boolean;
  readonly detail: string;
}

/** Choice: as the gate of a promotion, 0.1 points of honest sessions, if no budget is given. */
const ADDED_ALARMS_MAX = 0.001;
/** Choice: with fewer frauds one session moves the catch by more than 5 points. */
const LATEST_FRAUDS_MIN = 20;

/**
 * Choice: alarms fail only if all of their 95 % interval is above the bound. The threshold is chosen for just that share, so on the latest
 * rows, a third of those that chose it, the share itself is above it in every other training.
 */
export function candidateGates(
  { addedAlarms, honest, frauds, bothCatch, rulesCatch }: OperatingRow,
  { budget, isShadowOnly }: { readonly budget: number | null; readonly isShadowOnly: boolean },
): readonly CandidateGate[] {
  const alarms = addedAlarms ?? 0;
  const alarmsMax = Math.max(budget ?? 0, ADDED_ALARMS_MAX);
  const { low, high } = shareWithInterval(Math.round(alarms * honest), honest);
  const interval = `95 % interval +${points(low ?? 0)} to +${points(high ?? 1)}`;
  const gain = (bothCatch ?? 0) - (rulesCatch ?? 0);
  return [
    {
      name: 'alarms',
      holds: (low ?? 0) <= alarmsMax,
      detail: `+${points(alarms)} points of honest sessions (${interval}), not surely more than +${points(alarmsMax)}`,
    },
    { name: 'catch', holds: gain > 0, detail: `+${points(gain)} points of frauds beside the rules` },
    {
      name: 'latest_frauds',
      holds: frauds >= LATEST_FRAUDS_MIN,
      detail: `${frauds} known fraud sessions among the latest rows, at least ${LATEST_FRAUDS_MIN}`,
    },
    {
      name: 'training',
      holds: !isShadowOnly,
      detail: isShadowOnly ? 'trained on under 500 known fraud sessions' : 'trained on enough known fraud sessions',
    },
  ];
}

function points(share: number): string {
  return (share * 100).toFixed(2);
}
