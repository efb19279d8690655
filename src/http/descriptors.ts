import { readFileSync } from 'node:fs';

/** Choice: the usual limit of a shell, where the real one is not known. Node.js raises the soft limit to the hard one at its start. */
const DESCRIPTORS_UNKNOWN = 4_096;

/** Returns how many files and sockets this process may have open. */
export function descriptorsMax(file = '/proc/self/limits'): number {
  try {
    const digits = /^Max open files +(\d+|unlimited)/m.exec(readFileSync(file, 'latin1'))?.[1];
    if (digits === 'unlimited') return Number.MAX_SAFE_INTEGER;
    return digits === undefined ? DESCRIPTORS_UNKNOWN : Number(digits);
  } catch {
    return DESCRIPTORS_UNKNOWN;
  }
}
