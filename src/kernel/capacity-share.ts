import { RATE_VISITOR_MIN, RATE_VISITOR_SHARE } from './limits.ts';

/**
 * Returns whether one of several holders of a shared limit may take one more: only while it holds less than is free. A single holder gets
 * half, the next one half of the rest. If `n` holders take all they can at the same time, each gets 1 / (n + 1). So a few holders cannot
 * shut out the others.
 */
export function hasShare(held: number, taken: number, max: number): boolean {
  return held < max - taken;
}

/** Returns the share of a public key's allowance that one source may use. */
export function visitorShare(allowance: number): number {
  return Math.min(allowance, Math.max(RATE_VISITOR_MIN, Math.ceil(allowance * RATE_VISITOR_SHARE)));
}
