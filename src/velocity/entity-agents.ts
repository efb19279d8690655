import type { Table } from './table.ts';

/**
 * An entity's last three agents, 8 bits each, in the upper bytes of its flags word, the newest in the lowest; 0 is empty. They do not
 * expire: an account with three agents was seen with each of them.
 */
const FIRST_SHIFT = 8;
const END_SHIFT = 32;
const AGENT_MASK = 0xff;
const FLAGS_MASK = 0xff;
const TRIES_MAX = 16;

/** Makes the agent the newest. Returns whether it was already present. `at` is the index of the flags word. */
export function seeAgent({ words }: Table, at: number, agent: number): boolean {
  let wasKnown = false;
  for (let n = 0; n < TRIES_MAX; n++) {
    const word = words[at] ?? 0;
    if (((word >>> FIRST_SHIFT) & AGENT_MASK) === agent) return true;
    const shift = shiftOf(word, agent);
    wasKnown = shift < END_SHIFT;
    // Agents in front of its old position move up by one; an agent that is new drops the last.
    const kept = wasKnown ? (shift === END_SHIFT - 8 ? 0 : ~0 << (shift + 8)) : 0;
    const moved = (word & ~FLAGS_MASK & ~kept) << 8;
    const next = ((word & (FLAGS_MASK | kept)) | (agent << FIRST_SHIFT) | (moved & ~kept)) >>> 0;
    if (Atomics.compareExchange(words, at, word, next) === word) return wasKnown;
  }
  return wasKnown;
}

/** Removes the agent; older ones move down. */
export function forgetAgent({ words }: Table, at: number, agent: number): void {
  for (let n = 0; n < TRIES_MAX; n++) {
    const word = words[at] ?? 0;
    const shift = shiftOf(word, agent);
    if (shift === END_SHIFT) return;
    const before = word & (2 ** shift - 1);
    const behind = shift === END_SHIFT - 8 ? 0 : (word >>> (shift + 8)) << shift;
    const next = (before | behind) >>> 0;
    if (Atomics.compareExchange(words, at, word, next) === word) return;
  }
}

function shiftOf(word: number, agent: number): number {
  let shift = FIRST_SHIFT;
  while (shift < END_SHIFT && ((word >>> shift) & AGENT_MASK) !== agent) shift += 8;
  return shift;
}
