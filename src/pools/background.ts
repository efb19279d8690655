import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Choice: a third of a decision's claim to a processor that both want. More would let attempts run into their time-outs on a
 * machine that is full of decisions.
 */
const BACKGROUND_NICE = 5;

/**
 * Puts the calling thread behind those that decide, where they want the same processor: for workers whose work can wait. Linux
 * alone has a priority for each thread; elsewhere, or where it is forbidden, nothing changes.
 */
export function yieldToDecisions(): void {
  try {
    const [, , thread] = readlinkSync('/proc/thread-self').split('/');
    if (thread !== undefined) setPriority(Number(thread), BACKGROUND_NICE);
  } catch {
    // The thread stays as it was.
  }
}
