import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Choice: with this niceness a thread has a third of a decision thread's claim to a contended processor. A lower priority would let
 * attempts time out on a machine that is fully loaded with decisions.
 */
const BACKGROUND_NICE = 5;

/**
 * Lowers the priority of the calling thread below the deciding threads: for workers whose work can wait. Only Linux has a priority per
 * thread; elsewhere, or if it is forbidden, nothing changes.
 */
export function yieldToDecisions(): void {
  try {
    const [, , thread] = readlinkSync('/proc/thread-self').split('/');
    if (thread !== undefined) setPriority(Number(thread), BACKGROUND_NICE);
  } catch {
    // The priority stays unchanged.
  }
}
