/** What a verified crawler comes for; a policy decides by it. */
export const AGENT_PURPOSES = ['search', 'ai_training', 'ai_user', 'monitor', 'preview', 'shopping'] as const;
export type AgentPurpose = (typeof AGENT_PURPOSES)[number];

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
  /** As the feed `crawlers` names it. */
  readonly operator: string;
  readonly purpose: AgentPurpose;
}

/** Whether the address of a request is one that the named operator publishes. */
export interface AgentProof extends ClaimedAgent {
  readonly verified: 'range' | 'none';
}

/**
 * Names in user agents. Only crawlers whose operator publishes one list for all of them: one that is left out is never called forged.
 * Source: the pages of the operators about their crawlers. TelegramBot names Twitterbot too, so it stands before it.
 */
const CLAIMS: readonly (readonly [pattern: RegExp, operator: string, purpose: AgentPurpose])[] = [
  [/\bStorebot-Google\b/i, 'google', 'shopping'],
  [/\bGoogle-CloudVertexBot\b/i, 'google', 'ai_training'],
  [/\bGooglebot(?:-Image|-Video|-News)?\b|\bGoogle-InspectionTool\b|\bGoogleOther\b/i, 'google', 'search'],
  [/\bbingbot\b/i, 'bing', 'search'],
  [/\bDuckAssistBot\b/i, 'duckduckgo', 'ai_user'],
  [/\bDuckDuckBot\b/i, 'duckduckgo', 'search'],
  [/\bGPTBot\b/i, 'openai', 'ai_training'],
  [/\bOAI-SearchBot\b/i, 'openai', 'search'],
  [/\bChatGPT-User\b/i, 'openai', 'ai_user'],
  [/\bPerplexity-User\b/i, 'perplexity', 'ai_user'],
  [/\bPerplexityBot\b/i, 'perplexity', 'search'],
  [/\bmeta-externalagent\b/i, 'meta', 'ai_training'],
  [/\bmeta-externalfetcher\b/i, 'meta', 'ai_user'],
  [/\bfacebookexternalhit\b|\bfacebookcatalog\b/i, 'meta', 'preview'],
  [/\bTelegramBot\b/i, 'telegram', 'preview'],
  [/\bTwitterbot\b/i, 'x', 'preview'],
];

/** Returns the crawler that a user agent names; null for none. Linear in the text; the caller caches results by text. */
export function claimedAgent(userAgent: string): ClaimedAgent | null {
  for (const [pattern, operator, purpose] of CLAIMS) {
    const name = pattern.exec(userAgent)?.[0];
    if (name !== undefined) return { name, operator, purpose };
  }
  return null;
}

/**
 * Returns what the address proves about a claim; null when nothing is claimed or nothing can be known: no public address, or no ranges of
 * this operator.
 * @param operator whose published ranges have the address.
 * @param known operators whose ranges are loaded.
 */
export function agentProofOf(
  claimed: ClaimedAgent | null,
  isPublicAddress: boolean,
  operator: string | undefined,
  known: ReadonlySet<string>,
): AgentProof | null {
  if (claimed === null || !isPublicAddress || !known.has(claimed.operator)) return null;
  return { ...claimed, verified: operator === claimed.operator ? 'range' : 'none' };
}
