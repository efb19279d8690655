import type { AgentPurpose, AgentVerification } from '../../contract/vocabulary.ts';
import { NAME_CHECKS } from './agent-operators.ts';

/** What a policy may say about verified crawlers of a purpose. */
export const AGENT_ACTIONS = {
  allow: 'ALLOW',
  watch: 'ALLOW_WATCH',
  challenge: 'SOFT_CHALLENGE',
  block: 'BLOCK',
} as const;
export type AgentAction = keyof typeof AGENT_ACTIONS;

/** A crawler that a user agent names, with the operator that publishes where it comes from. */
export interface ClaimedAgent {
  readonly name: string;
  /** Under which decisions keep it, from 1. */
  readonly number: number;
  /** As the feed `crawlers` names it. */
  readonly operator: string;
  readonly purpose: AgentPurpose;
}

/** What a request proves about the crawler that it names. */
export interface AgentProof extends ClaimedAgent {
  readonly verified: AgentVerification;
}

/**
 * Names in user agents, in the order in which they are looked for, with the number that decisions keep: numbers are never used again. Only
 * crawlers whose operator publishes one list for all of them, or one way to check the names of their addresses: one that is left out is
 * never called forged.
 * Source: the pages of the operators about their crawlers. TelegramBot names Twitterbot too, so it stands before it.
 */
const CLAIMS: readonly (readonly [pattern: RegExp, agent: ClaimedAgent])[] = [
  [/\bStorebot-Google\b/i, agentOf(1, 'Storebot-Google', 'google', 'shopping')],
  [/\bGoogle-CloudVertexBot\b/i, agentOf(2, 'Google-CloudVertexBot', 'google', 'ai_training')],
  [
    /\bGooglebot(?:-Image|-Video|-News)?\b|\bGoogle-InspectionTool\b|\bGoogleOther\b/i,
    agentOf(3, 'Googlebot', 'google', 'search'),
  ],
  [/\bbingbot\b/i, agentOf(4, 'bingbot', 'bing', 'search')],
  [/\bDuckAssistBot\b/i, agentOf(5, 'DuckAssistBot', 'duckduckgo', 'ai_user')],
  [/\bDuckDuckBot\b/i, agentOf(6, 'DuckDuckBot', 'duckduckgo', 'search')],
  [/\bGPTBot\b/i, agentOf(7, 'GPTBot', 'openai', 'ai_training')],
  [/\bOAI-SearchBot\b/i, agentOf(8, 'OAI-SearchBot', 'openai', 'search')],
  [/\bChatGPT-User\b/i, agentOf(9, 'ChatGPT-User', 'openai', 'ai_user')],
  [/\bPerplexity-User\b/i, agentOf(10, 'Perplexity-User', 'perplexity', 'ai_user')],
  [/\bPerplexityBot\b/i, agentOf(11, 'PerplexityBot', 'perplexity', 'search')],
  [/\bmeta-externalagent\b/i, agentOf(12, 'meta-externalagent', 'meta', 'ai_training')],
  [/\bmeta-externalfetcher\b/i, agentOf(13, 'meta-externalfetcher', 'meta', 'ai_user')],
  [/\bfacebookexternalhit\b|\bfacebookcatalog\b/i, agentOf(14, 'facebookexternalhit', 'meta', 'preview')],
  [/\bTelegramBot\b/i, agentOf(15, 'TelegramBot', 'telegram', 'preview')],
  [/\bTwitterbot\b/i, agentOf(16, 'Twitterbot', 'x', 'preview')],
  [/\bApplebot\b/i, agentOf(17, 'Applebot', 'apple', 'search')],
];

/**
 * Agents that sign their requests (Web Bot Auth), by the host of their key directory; most of them send the user agent of a browser. Keys
 * of other hosts are never fetched. Numbers as above.
 * Source: help.openai.com/en/articles/11845367, "ChatGPT agent allowlisting"; developers.google.com/crawling, "Authenticate requests with
 * Web Bot Auth".
 */
const SIGNERS: ReadonlyMap<string, ClaimedAgent> = new Map([
  ['chatgpt.com', agentOf(18, 'ChatGPT-Agent', 'openai', 'ai_user')],
  ['agent.bot.goog', agentOf(19, 'Google-Agent', 'google', 'ai_user')],
]);

/** Returns the agent whose keys are published at a host; null for any other host. */
export function signerAt(host: string): ClaimedAgent | null {
  return SIGNERS.get(host) ?? null;
}

function agentOf(number: number, name: string, operator: string, purpose: AgentPurpose): ClaimedAgent {
  return { number, name, operator, purpose };
}

/** Returns the crawler that a user agent names; null for none. Linear in the text; the caller caches results by text. */
export function claimedAgent(userAgent: string): ClaimedAgent | null {
  for (const [pattern, agent] of CLAIMS) {
    const name = pattern.exec(userAgent)?.[0];
    if (name !== undefined) return { ...agent, name };
  }
  return null;
}

/** Returns the crawler that decisions keep under a number; null for 0, and for a number of a newer build. */
export function agentOfNumber(wanted: number): ClaimedAgent | null {
  const claimed = CLAIMS.find(([, { number }]) => number === wanted)?.[1];
  return claimed ?? [...SIGNERS.values()].find(({ number }) => number === wanted) ?? null;
}

/** Whether a crawler is the one that it names, however that was proven. */
export function isVerified(proof: AgentProof | null | undefined): proof is AgentProof {
  return proof !== null && proof !== undefined && proof.verified !== 'none';
}

/**
 * Returns what the address proves about a claim; null when nothing can be known. Published ranges precede the name of the address.
 * @param operator whose published ranges have the address.
 * @param known operators whose ranges are loaded.
 * @param named whether the name of the address belongs to the operator: one of `NAME_CHECKS`, 0 if that is not known.
 */
export function agentProofOf(
  claimed: ClaimedAgent,
  operator: string | undefined,
  known: ReadonlySet<string>,
  named: number,
): AgentProof | null {
  const hasRanges = known.has(claimed.operator);
  if (hasRanges && operator === claimed.operator) return { ...claimed, verified: 'range' };
  if (named === NAME_CHECKS.confirmed) return { ...claimed, verified: 'dns' };
  return hasRanges || named === NAME_CHECKS.refuted ? { ...claimed, verified: 'none' } : null;
}
