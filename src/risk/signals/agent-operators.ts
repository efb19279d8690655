/**
 * What operators of crawlers document about how to verify them, besides ranges of addresses.
 */
export interface AgentOperator {
  /** Domains below which the names of its crawlers' addresses are, for forward-confirmed reverse DNS. */
  readonly domains: readonly string[];
}

/**
 * By the operator's name in the feed `crawlers`. Only domains in which nobody else can get a name for a machine: not
 * `googleusercontent.com`, whose machines anybody can rent.
 * Source: developers.google.com, "Verifying requests from Google crawlers"; bing.com/webmaster/help, "Verifying Bingbot";
 * support.apple.com/119829, "About Applebot".
 */
const OPERATORS: ReadonlyMap<string, AgentOperator> = new Map([
  ['google', { domains: ['googlebot.com'] }],
  ['bing', { domains: ['search.msn.com'] }],
  ['apple', { domains: ['applebot.apple.com'] }],
]);

/** Returns the domains of an operator's crawlers; empty if it does not document reverse DNS. */
export function crawlerDomains(operator: string): readonly string[] {
  return OPERATORS.get(operator)?.domains ?? [];
}

/** First word of the question for the keys of a signer; the second is its host. */
export const KEYS_QUESTION = 'agent_keys';

/** Answers to whether the name of an address belongs to an operator, as they are shared between threads; 0 is not known. */
export const NAME_CHECKS = { confirmed: 1, refuted: 2, unknown: 3 } as const;

/** First word of the question. */
export const NAME_QUESTION = 'agent_name';

/** The question whether the name of an address belongs to an operator: its name, and the address in canonical text. */
export function nameQuestion(operator: string, ip: string): string {
  return `${NAME_QUESTION} ${operator} ${ip}`;
}
