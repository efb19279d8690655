import type { Table } from './table.ts';
import { memberOf } from './timed-set.ts';

/**
 * Where logins of an entity succeeded, in its record of outcomes: words 28-29 the last two networks, each with its agent (15 bits of the
 * network << 8 | agent), words 30-31 the last two devices (15 bits); the newer first, 0 for none. Only a reported success gets there, so
 * nobody who guesses passwords can.
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

/** `by` -1 takes a success back. */
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

/** Of two that write at once one may be lost: the next success writes it again. */
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
