import { HOUR_MS, WEEK_START_MS, type Country } from './calendar.ts';
import { FIRST_HOURS } from './customers.ts';
import type { Device } from './devices.ts';
import type { DecideBody, OrderAttributes, SessionLabel, TrafficEvent, TrueOutcome } from './events.ts';
import type { Account } from './identities.ts';
import { attributesOf, createdBefore, drawOrder, type Order } from './orders.ts';
import type { Random } from './random.ts';

/** Initial state of a session. */
export interface VisitStart {
  readonly label: SessionLabel;
  readonly startMs: number;
  readonly random: Random;
  readonly address: string;
  readonly device: Device;
  /** Token of another session, for a stolen or copied token. */
  readonly token?: string;
  /** Page that the visitor comes from; null for none, as with a bookmark or a mail program. */
  readonly referrer?: string | null;
  /** Whether the visitor's browser never sends a referrer. */
  readonly hidesReferrer?: boolean;
  /** Sends an opaque token although the customer has the collector: the script was blocked or not run. */
  readonly withoutCollector?: boolean;
  /** Replaces the signals that the collector reads. */
  readonly signals?: Readonly<Record<string, unknown>>;
  /** Where orders are sent. */
  readonly home: Country;
  /** When the visitor's account was created, Unix ms; otherwise before the week, or in this visit. */
  readonly createdMs?: number;
}

/** What the customer knows about the visitor at one step. */
interface Step {
  readonly path?: string;
  readonly account?: Account | null;
  /** Typed e-mail address that does not belong to a known account yet. */
  readonly email?: string;
  readonly card?: string;
  readonly giftCard?: string;
  readonly outcome?: TrueOutcome | null;
}

const ORDER_STEPS: ReadonlySet<string> = new Set(['checkout', 'payment']);

const PATHS: Readonly<Record<string, string>> = {
  page_view: '/',
  search: '/search?q=shoes',
  login: '/login',
  signup: '/register',
  checkout: '/checkout',
  payment: '/checkout/pay',
  password_reset: '/password/reset',
  profile_change: '/account/profile',
  gift_card_check: '/giftcards/balance',
};

/** Generates the events of one session as the customer's servers would send them. */
export class Visit {
  readonly events: TrafficEvent[] = [];
  readonly random: Random;
  readonly label: SessionLabel;
  #atMs: number;
  #address: string;
  #device: Device;
  #referrer: string | null;
  /** Set after login: every further event contains the account. */
  #account: Account | null = null;
  /** When the account was created, if it was in this week; Unix ms. */
  #createdMs: number | null;
  /** The order that is not paid yet. */
  #order: Order | null = null;
  #orders = 0;
  readonly #token: string;
  readonly #start: VisitStart;

  constructor(start: VisitStart) {
    this.#start = start;
    this.label = start.label;
    this.random = start.random;
    this.#atMs = start.startMs;
    this.#address = start.address;
    this.#device = start.device;
    this.#referrer = start.referrer ?? null;
    this.#createdMs = start.createdMs ?? null;
    this.#token = start.token ?? tokenOf(start);
  }

  get nowMs(): number {
    return this.#atMs;
  }

  wait(ms: number): this {
    this.#atMs += Math.max(1, Math.round(ms));
    return this;
  }

  /** Waits for a human delay: half of the delays are shorter than `medianSeconds`, some are much longer. */
  think(medianSeconds: number): this {
    return this.wait(Math.min(this.random.logNormal(medianSeconds, 0.8), medianSeconds * 40) * 1_000);
  }

  /** Changes the visitor's address from here on, as when leaving the house. */
  moveTo(address: string): this {
    this.#address = address;
    return this;
  }

  /** Logs the visitor in from the start by a known cookie. */
  remembered(account: Account): this {
    this.#account = account;
    return this;
  }

  page(path = `/p/${this.random.below(4_000)}`): this {
    return this.#send('page_view', { path });
  }

  search(): this {
    return this.#send('search', { path: `/search?q=item${this.random.below(900)}` });
  }

  login(account: Account, outcome: TrueOutcome = 'succeeded', email = account.email): this {
    this.#send('login', { email, outcome });
    if (outcome === 'succeeded') this.#account = account;
    return this;
  }

  signup(account: Account, outcome: TrueOutcome = 'succeeded'): this {
    this.#createdMs ??= this.#atMs;
    this.#send('signup', { email: account.email, outcome });
    if (outcome === 'succeeded') this.#account = account;
    return this;
  }

  passwordReset(account: Account, outcome: TrueOutcome = 'succeeded'): this {
    return this.#send('password_reset', { email: account.email, outcome });
  }

  profileChange(): this {
    return this.#send('profile_change', { outcome: 'succeeded' });
  }

  /** `email` is that of a guest without an account. */
  checkout(email?: string, path?: string): this {
    return this.#send('checkout', { ...(email !== undefined && { email }), ...(path !== undefined && { path }) });
  }

  pay(card: string, outcome: TrueOutcome = 'succeeded', email?: string): this {
    return this.#send('payment', { card, outcome, ...(email !== undefined && { email }) });
  }

  giftCard(giftCard: string, outcome: TrueOutcome = 'failed'): this {
    return this.#send('gift_card_check', { giftCard, outcome });
  }

  #send(type: string, step: Step): this {
    if (this.label.customer.events.has(type)) this.#write(type, step);
    return this;
  }

  #write(type: string, { path, account = this.#account, email, card, giftCard, outcome = null }: Step): void {
    const { customer } = this.label;
    const entities: Record<string, string> = {};
    if (account !== null) entities['user_id'] = account.userId;
    const mail = email ?? account?.email;
    if (mail !== undefined) entities['email'] = mail;
    if (card !== undefined && customer.passesCards) entities['card'] = card;
    if (giftCard !== undefined) entities['gift_card'] = giftCard;
    const isApp = customer.integration === 'app';
    const url = `https://${customer.host}${path ?? PATHS[type] ?? '/'}`;
    const body: DecideBody = {
      ip: this.#address,
      user_agent: this.#device.agent,
      ...(!isApp && { url, ...(this.#referrer !== null && { referrer: this.#referrer }) }),
      session_token: this.#token,
      ...(Object.keys(entities).length > 0 && { entity_keys: entities }),
      ...(ORDER_STEPS.has(type) && { attributes: this.#attributes(type, account, mail, card ?? null, outcome) }),
      ...(customer.passesHeaders && { headers: this.#headers(isApp) }),
      event_type: type,
      timestamp: Math.floor(this.#atMs / 1_000),
    };
    this.events.push({
      atMs: this.#atMs,
      session: this.label,
      body,
      outcome,
      isFirstHours: this.#atMs < WEEK_START_MS + customer.startsAfterMs + FIRST_HOURS * HOUR_MS,
    });
    if (this.#start.hidesReferrer !== true && !isApp) this.#referrer = url;
    this.wait(1);
  }

  /** The order stays the same from the checkout until a payment succeeds. */
  #attributes(
    type: string,
    account: Account | null,
    mail: string | undefined,
    card: string | null,
    outcome: TrueOutcome | null,
  ): OrderAttributes {
    const createdMs = account === null ? null : (this.#createdMs ?? createdBefore(account));
    const buyer = { label: this.label, home: this.#start.home, createdMs };
    if (this.#order === null || type === 'checkout')
      this.#order = drawOrder(buyer, ++this.#orders, mail ?? card ?? '', this.#atMs);
    const attributes = attributesOf(buyer, this.#order, card);
    if (outcome === 'succeeded') this.#order = null;
    return attributes;
  }

  #headers(isApp: boolean): Record<string, string> {
    const { agent, language } = this.#device;
    return isApp
      ? { accept: 'application/json', 'user-agent': agent, 'accept-language': language }
      : {
          accept: 'text/html,application/xhtml+xml',
          'user-agent': agent,
          // Scripts send no language unless their author added one.
          ...(language !== '' && { 'accept-language': language }),
          'accept-encoding': 'gzip, br',
        };
  }
}

function tokenOf({ label, device, startMs, withoutCollector, signals }: VisitStart): string {
  const name = `${label.customer.number}.${label.id.toString(36)}`;
  if (!label.customer.hasCollector || withoutCollector === true) return `s-${name}`;
  const token = {
    v: 1,
    fp: device.fingerprint,
    sid: name,
    iat: Math.floor(startMs / 1_000) - 1,
    sig: signals ?? device.signals,
  };
  return `st1.${Buffer.from(JSON.stringify(token)).toString('base64url')}`;
}
