import type { Table } from './table.ts';
import { memberOf } from './timed-set.ts';

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

export function succeededAt({ words }: Table, record: number, place: SuccessPlace): boolean {
  return isIn(words, record + AT_NETWORKS, networkOf(place)) || isIn(words, record + AT_DEVICES, place.device);
}

/** `by` -1 reverts a success. */
export function noteSuccess({ words }: Table, record: number, place: SuccessPlace, by: 1 | -1): void {
  note(words, record + AT_NETWORKS, networkOf(place), by);
  note(words, record + AT_DEVICES, place.device, by);
}

function networkOf({ site, agentHash }: SuccessPlace): number {
  return site === 0 ? 0 : (memberOf(site) << 8) | agentHash;
}

function isIn(words: Uint32Array, at: number, value: number): boolean {
  return value !== 0 && (words[at] === value || words[at + 1] === value);
}

/** When two workers write at the same time, one value may be lost: the next success writes it again. */
function note(words: Uint32Array, at: number, value: number, by: 1 | -1): void {
  if (value === 0) return;
  const newer = words[at] ?? 0;
  if (by === -1) {
    for (let i = at; i < at + 2; i++) if (words[i] === value) Atomics.compareExchange(words, i, value, 0);
  } else if (newer !== value) {
    Atomics.store(words, at + 1, newer);
    Atomics.store(words, at, value);
  }
}
