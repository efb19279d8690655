import { SHADOW_REASONS, type ShadowReason } from '../contract/vocabulary.ts';
import type { Decision } from './decision.ts';
import type { Bands } from './policy/policy.ts';

/**
 * Selects decisions for the shadow review queue: a deterministic sample of all, each one just under BLOCK, and each one on which a
 * challenger differs (`challenged`).
 * The request id determines the sample, so the same decision always has the same result. Source: contract, 5.4.
 */
export { SHADOW_REASONS, type ShadowReason };

/** Points under the BLOCK band. Source: contract, 5.4. */
const NEAR_BLOCK_POINTS = 3;

export function shadowReason(
  requestId: string,
  decision: Decision,
  score: number,
  bands: Bands,
  sampleRate: number,
  challenged = false,
): ShadowReason | null {
  if (decision !== 'BLOCK' && score < bands.block && score >= bands.block - NEAR_BLOCK_POINTS) return 'near_block';
  if (challenged) return 'challenger';
  return sampleOf(requestId) < sampleRate ? 'sample' : null;
}

/**
 * Returns FNV-1a over the id, scaled to 0 to 1: the id's own randomness makes it uniform. Samples with different seeds are independent of
 * each other.
 */
export function sampleOf(requestId: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = 0; i < requestId.length; i++) hash = Math.imul(hash ^ requestId.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}
