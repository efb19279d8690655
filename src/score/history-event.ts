import { isPayingStep } from '../risk/event-outcome.ts';
import type { AgentFacts, Facts } from '../risk/facts.ts';
import { type HistoryEvent, NO_COUNTERS } from '../risk/history.ts';
import type { ActivePolicy } from '../risk/policy/policy-set.ts';
import { placeOf } from '../risk/travel.ts';
import type { SessionMemo } from './session-memo.ts';

interface RequestOrigin extends Pick<HistoryEvent, 'customer' | 'publicKey' | 'nowMs'> {
  readonly requestId: string;
}

const COMMA = 44;
const SEMICOLON = 59;

/**
 * Converts a request into the velocity store's input. A request without a session token is a session of its own, by its `requestId`: it
 * counts what one with a new token of the caller's own would count.
 */
export function historyEvent(
  facts: Omit<Facts, 'history'>,
  session: Pick<SessionMemo, 'grant'>,
  { customer, publicKey, nowMs, requestId }: RequestOrigin,
  { policy, ignoredEntityKeys }: Pick<ActivePolicy, 'policy' | 'ignoredEntityKeys'>,
): HistoryEvent {
  const { token, fingerprintHash, ip, geo, agent, entities, emails } = facts;
  const collector = token.kind === 'collector';
  return {
    customer,
    publicKey,
    nowMs,
    eventType: facts.eventType,
    sessionId: collector ? token.sessionId : token.kind === 'none' ? requestId : fingerprintHash,
    networks: ip?.kind === 'valid' && ip.public ? ip.networks : null,
    country: geo?.country ?? null,
    place: geo === null ? null : placeOf(geo, policy),
    agent,
    agentHash: agentHash(agent, facts.headers.get('accept-language')),
    exactAgentHash: agent?.textHash ?? 0,
    agentLanguageHash: EXACT_STEPS.has(facts.eventType)
      ? agentLanguageHash(facts.userAgent, facts.headers.get('accept-language'))
      : 0,
    mail: emails[0] ?? null,
    outcome: facts.outcome,
    entities: byMailbox(counted(entities, ignoredEntityKeys), emails),
    device: collector && token.hasFingerprint ? fingerprintHash : null,
    browser: collector ? token.browserHash : null,
    grant: facts.grant?.fault === null && session.grant !== 'none' ? session.grant : null,
    amount: facts.attributes.size === 0 ? null : amountOf(facts),
    counters: NO_COUNTERS,
  };
}

/** Source: ISO 4217. */
const CURRENCY = /^[A-Z]{3}$/;

function amountOf({ eventType, attributes }: Pick<Facts, 'eventType' | 'attributes'>): HistoryEvent['amount'] {
  const value = attributes.get('amount');
  if (typeof value !== 'number' || !(value > 0) || !isPayingStep(eventType)) return null;
  const currency = attributes.get('currency');
  return { value, currency: typeof currency === 'string' && CURRENCY.test(currency) ? currency : '' };
}

/** Events for which the agents of unknown accounts are compared. */
const EXACT_STEPS: ReadonlySet<string> = new Set(['login', 'signup']);

/** Replaces an e-mail by its mailbox, however it is spelled; usually they are equal. */
function byMailbox(entities: Facts['entities'], emails: Facts['emails']): Facts['entities'] {
  if (emails.every(({ text, canonical }) => text === canonical)) return entities;
  return entities.map((entity) => {
    const email = emails.find(({ text }) => text === entity.value);
    return email === undefined ? entity : { name: entity.name, value: email.canonical };
  });
}

/** Removes ignored entities. Usually none is ignored, and then the list is the request's own. */
function counted(entities: Facts['entities'], ignoredKeys: ReadonlySet<string>): Facts['entities'] {
  return entities.some(({ name }) => ignoredKeys.has(name))
    ? entities.filter(({ name }) => !ignoredKeys.has(name))
    : entities;
}

/** Choice: a language tag such as `zh-Hant` has fewer than nine characters; the rest is a list of further ones. */
const LANGUAGE_CHARACTERS_MAX = 8;

/** Returns 1 to 255; 0 without an agent. */
function agentHash(agent: AgentFacts | null, languages = ''): number {
  if (agent === null) return 0;
  let hash = Math.imul(agent.system.charCodeAt(0) + agent.system.length * 31, 0x85ebca6b);
  hash = Math.imul(hash ^ (agent.browser.charCodeAt(0) + agent.browser.length * 31), 0x2c1b3c6d);
  const end = Math.min(languages.length, LANGUAGE_CHARACTERS_MAX);
  for (let i = 0; i < end; i++) {
    const code = languages.charCodeAt(i);
    if (code === COMMA || code === SEMICOLON) break;
    hash = Math.imul(hash ^ code, 0x01000193);
  }
  return (((hash ^ (hash >>> 15)) >>> 3) % 255) + 1;
}

/** Returns 32 bits, never 0 with an agent: a hash of its whole text and of the first language. */
function agentLanguageHash(userAgent: string | null, languages = ''): number {
  if (userAgent === null || userAgent === '') return 0;
  let hash = 0x811c9dc5;
  for (let i = 0; i < userAgent.length; i++) hash = Math.imul(hash ^ userAgent.charCodeAt(i), 0x01000193);
  const end = Math.min(languages.length, LANGUAGE_CHARACTERS_MAX);
  for (let i = 0; i < end; i++) {
    const code = languages.charCodeAt(i);
    if (code === COMMA || code === SEMICOLON) break;
    hash = Math.imul(hash ^ code, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13) || 1;
}
