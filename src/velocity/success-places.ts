import type { Table } from './table.ts';
import { setMemberOf } from './timed-set.ts';
import { SUCCEEDED_ON_DEVICE, SUCCEEDED_ON_NETWORK } from './trace.ts';

/**
 * Networks and devices where logins of an entity succeeded, in its outcome record: words 28-29 the last two networks, each with its agent
 * (15 bits of the network << 8 | agent), words 30-31 the last two devices (15 bits); the newer first, 0 is empty. Only a reported success
 * is stored, so guessing passwords adds nothing.
 */
const AT_NETWORKS = 28;
const AT_DEVICES = 30;

export interface SuccessPlace {
  /** 0 without networks. */
  readonly site: number;
  readonly agentHash: number;
  /** As a member of a set; 0 without a device. */
  readonly device: number;
}

/** Returns bits of a trace: `SUCCEEDED_ON_NETWORK`, `SUCCEEDED_ON_DEVICE`. */
export function successesAt({ words }: Table, record: number, place: SuccessPlace): number {
  return (
    (isIn(words, record + AT_NETWORKS, networkOf(place)) ? SUCCEEDED_ON_NETWORK : 0) |
    (isIn(words, record + AT_DEVICES, place.device) ? SUCCEEDED_ON_DEVICE : 0)
  );
}

export function noteSuccess({ words }: Table, record: number, place: SuccessPlace): void {
  note(words, record + AT_NETWORKS, networkOf(place));
  note(words, record + AT_DEVICES, place.device);
}

/** Reverts a success; `before` are the bits of `successesAt` without it. What it replaced stays lost. */
export function revertSuccess({ words }: Table, record: number, place: SuccessPlace, before: number): void {
  if ((before & SUCCEEDED_ON_NETWORK) === 0) remove(words, record + AT_NETWORKS, networkOf(place));
  if ((before & SUCCEEDED_ON_DEVICE) === 0) remove(words, record + AT_DEVICES, place.device);
}

function networkOf({ site, agentHash }: SuccessPlace): number {
  return site === 0 ? 0 : (setMemberOf(site) << 8) | agentHash;
}

function isIn(words: Uint32Array, at: number, value: number): boolean {
  return value !== 0 && (words[at] === value || words[at + 1] === value);
}

/** When two workers write at the same time, one value may be lost: the next success writes it again. */
function note(words: Uint32Array, at: number, value: number): void {
  const newer = words[at] ?? 0;
  if (value === 0 || newer === value) return;
  // The newer one is empty after a success was reverted: the older one stays.
  if (newer !== 0) Atomics.store(words, at + 1, newer);
  Atomics.store(words, at, value);
}

function remove(words: Uint32Array, at: number, value: number): void {
  if (value === 0) return;
  for (let i = at; i < at + 2; i++) if (words[i] === value) Atomics.compareExchange(words, i, value, 0);
}
