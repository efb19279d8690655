import { signal } from '@preact/signals';

/** Reads that ask all nodes of a cluster. */
const OF_ALL_NODES =
  /^\/dashboard\/api\/v1\/(?:decisions[/?]|links\?|top\?|stats\?|fingerprints\/|policy\/(?:rules|challenger)|lists\?.*usage|lists\/candidates)/;

/** True if the last read of all nodes lacked the part of a node that did not answer. */
export const isPartial = signal(false);

export function notePartial(url: string, headers: Headers): void {
  if (OF_ALL_NODES.test(url)) isPartial.value = headers.get('x-svc-partial') === '1';
}
