import type { Decision } from './decision.ts';
import type { Bands } from './policy.ts';

/**
 * Which decisions are copied to the shadow review queue: a deterministic sample of all, each one closely under BLOCK, and each
 * one on which the challenger's policy lands in another band (`challenged`).
 * The sample is drawn by the request id, so the same decision always falls the same way. Source: open points, section 2.
 */
export const SHADOW_REASONS = ['sample', 'near_block', 'challenger'] as const;
export type ShadowReason = (typeof SHADOW_REASONS)[number];

/** Points under the BLOCK band. Source: open points, section 2. */
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

/** FNV-1a over the id, as a share of 1: the id's own randomness makes it even. */
function sampleOf(requestId: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < requestId.length; i++) hash = Math.imul(hash ^ requestId.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}
