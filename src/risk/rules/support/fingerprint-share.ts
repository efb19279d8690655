import { DEVICE_COMMON_NETWORKS_24H } from '../../../kernel/velocity-limits.ts';
import type { DeviceHistory } from '../../history.ts';

/** Choice: a phone on the move and its charger at work come from up to ten networks a day; more suggest several devices. */
const NETWORKS_OF_ONE = 10;

/**
 * Returns how much a count of one fingerprint weighs, 0 to 1: 1 up to 10 networks in 24 h, then less with each network, 0 for a common
 * fingerprint, which stands for many devices.
 */
export function shareOfOne({ networks24h, isCommon }: Pick<DeviceHistory, 'networks24h' | 'isCommon'>): number {
  if (isCommon) return 0;
  const over = networks24h - NETWORKS_OF_ONE;
  if (!(over > 0)) return 1;
  return Math.max(0, 1 - over / (DEVICE_COMMON_NETWORKS_24H + 1 - NETWORKS_OF_ONE));
}

export function describeShare({ networks24h }: Pick<DeviceHistory, 'networks24h'>): string {
  return `the fingerprint came from ${networks24h} networks`;
}
