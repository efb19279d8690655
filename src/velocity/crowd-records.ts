import { isCodeStep } from '../risk/guess-steps.ts';
import { isPayingStep } from '../risk/event-outcome.ts';
import { type CrowdHistory, SLOW_MS } from '../risk/crowds.ts';
import type { EntityHistory, HistoryEvent } from '../risk/history.ts';
import { CrowdSurges } from './crowd-surges.ts';
import type { EventKeys } from './event-keys.ts';
import { LoginCrowds } from './login-crowds.ts';
import type { OutcomeChange } from './outcome-record.ts';
import { MailRecords } from './mail-records.ts';
import type { Table } from './table.ts';

/** An event of a customer's crowd. */
export interface CrowdMember {
  readonly isCold: boolean;
  /** The account has been known for 12 h and comes from a network that it knows, and from few others. */
  readonly returns: boolean;
  /** Age of the session. */
  readonly ageMs: number;
}

/** Records about a customer's unknown accounts as a group. */
export class CrowdRecords {
  readonly #surges: CrowdSurges;
  readonly #logins: LoginCrowds;
  readonly #mails: MailRecords;

  constructor(table: Table, hashKey: Uint8Array) {
    this.#surges = new CrowdSurges(table);
    this.#logins = new LoginCrowds(table);
    this.#mails = new MailRecords(table, hashKey);
  }

  /**
   * Call after the event's entities were observed. Returns null unless the event is a login, a sign-up, a code or password step of new
   * entities, or a payment or checkout whose e-mail belongs to a new account or is not spelled like its mailbox.
   */
  observe(
    event: HistoryEvent,
    keys: EventKeys,
    entities: readonly EntityHistory[],
    { isCold, returns, ageMs }: CrowdMember,
  ): CrowdHistory | null {
    const { eventType, nowMs } = event;
    const isSlow = ageMs > SLOW_MS;
    const isLogin = eventType === 'login';
    const isSignup = eventType === 'signup';
    const isNew = entities.length > 0 && entities.every((entity) => entity.isNew);
    const isCode = isNew && isCodeStep(eventType);
    if (isCode) return this.#code(keys, isSlow, nowMs);
    if (!isLogin && !isSignup) return isPayingStep(eventType) ? this.#paying(event, keys, entities) : null;
    const surges = this.#surges;
    const { site } = keys;
    surges.open(keys, nowMs);
    const surge = isLogin ? surges.logins(site, isNew, isSlow, nowMs) : surges.signups(site, isSlow, nowMs);
    const agent = isNew || isSignup ? surges.agent(event, site, nowMs) : null;
    const logins = isLogin ? this.#logins : null;
    logins?.open(keys, isNew, isCold, nowMs);
    const account = logins?.account(event, keys, entities) ?? null;
    // Counted once an hour per account, so that nobody makes an agent usual by logging in again and again.
    if (isLogin && !isNew && account === null && entities.length > 0) surges.noteKnown(event, nowMs);
    const { mailDomain, spellings30d } = this.#mailOf(event, keys, entities, surges.customerAgeSeconds);
    return {
      customerAgeSeconds: surges.customerAgeSeconds,
      surge,
      agent,
      address: site === 0 ? null : (logins?.address(keys, isNew, returns, nowMs) ?? null),
      network: site === 0 ? null : (logins?.network(keys, isCold, returns, nowMs) ?? null),
      account,
      signups: isSignup && site !== 0 ? this.#logins.signups(keys, surge?.networks ?? 0, nowMs) : null,
      mailDomain,
      spellings30d,
    };
  }

  /** Returns the seconds since the customer's first login or sign-up; until it has one, since its first event. Call after `observe`. */
  customerAgeSeconds(keys: EventKeys, nowMs: number): number {
    return this.#surges.ageOf(keys, nowMs);
  }

  /** Counts a login's outcome in its network. */
  countOutcome(keys: Pick<EventKeys, 'populationLow'>, site: number, change: OutcomeChange): void {
    this.#logins.countOutcome(keys, site, change);
  }

  #code(keys: EventKeys, isSlow: boolean, nowMs: number): CrowdHistory {
    this.#surges.open(keys, nowMs);
    return crowdOf(this.#surges.customerAgeSeconds, this.#surges.codes(keys.site, isSlow, nowMs), NO_MAIL);
  }

  /** Reads only for a new account, or for an e-mail that is not spelled like its mailbox: most events need neither. */
  #paying(event: HistoryEvent, keys: EventKeys, entities: readonly EntityHistory[]): CrowdHistory | null {
    const { mail } = event;
    if (mail === null || (mail.spelling === mail.canonical && !entities.some(({ isNew }) => isNew))) return null;
    this.#surges.look(keys, event.nowMs);
    const { customerAgeSeconds } = this.#surges;
    return crowdOf(customerAgeSeconds, null, this.#mailOf(event, keys, entities, customerAgeSeconds));
  }

  #mailOf(
    { mail, eventType, nowMs }: HistoryEvent,
    keys: EventKeys,
    entities: readonly EntityHistory[],
    customerAgeSeconds: number,
  ): MailHistory {
    if (mail === null) return NO_MAIL;
    const isSignup = eventType === 'signup';
    const isKnown = !isSignup && !entities.some(({ isNew }) => isNew);
    const domain = isKnown ? null : this.#mails.domain(mail, keys, isSignup, customerAgeSeconds, nowMs);
    const wasSeen = entities.some(({ isNew }) => !isNew);
    return {
      mailDomain: isSignup ? domain : null,
      spellings30d: eventType === 'login' ? 0 : this.#mails.spellings(mail, keys, wasSeen, nowMs),
    };
  }
}

type MailHistory = Pick<CrowdHistory, 'mailDomain' | 'spellings30d'>;

/**
 * What an event other than a login or a sign-up knows. Measured: spreading parts into it left some 120 bytes a request of mixed traffic in
 * the part of the heap that only whole collections clear.
 */
function crowdOf(
  customerAgeSeconds: number,
  surge: CrowdHistory['surge'],
  { mailDomain, spellings30d }: MailHistory,
): CrowdHistory {
  return {
    customerAgeSeconds,
    surge,
    agent: null,
    address: null,
    network: null,
    account: null,
    signups: null,
    mailDomain,
    spellings30d,
  };
}

const NO_MAIL: MailHistory = { mailDomain: null, spellings30d: 0 };
