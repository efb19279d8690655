/** The five answers, mildest first; the position is the number that crosses threads. Source: risk specification, section 1. */
export const DECISIONS = ['ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK'] as const;
export type Decision = (typeof DECISIONS)[number];

/** Source: open points, section 2. */
export const SESSION_MODES = ['full', 'unverified', 'degraded', 'no_session'] as const;
export type SessionMode = (typeof SESSION_MODES)[number];

/** What a customer's own list says of a fingerprint. Source: risk specification, section 2.3. */
export const LIST_ACTIONS = ['block', 'allow', 'watch'] as const;
export type ListAction = (typeof LIST_ACTIONS)[number];
