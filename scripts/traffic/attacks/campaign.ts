import type { Abroad } from '../addresses.ts';
import { HOUR_MS, WEEK_START_MS, type Country } from '../calendar.ts';
import type { Customer, Integration } from '../customers.ts';
import type { PlannedSession } from '../events.ts';
import type { Person } from '../people.ts';
import { drawAccount, type Account } from '../identities.ts';
import type { Random } from '../random.ts';
import { Visit, type VisitStart } from '../visit.ts';
import type { World } from '../world.ts';

/** Behaviour of one kind of attackers. */
export interface AttackKind {
  readonly kind: string;
  /** Number of operators per week at full scale. */
  readonly campaigns: number;
  /** Sessions per operator. */
  readonly sessions: number;
  /** Customers that it targets. */
  readonly against: readonly Integration[];
  readonly needsCollector?: boolean;
  /** Customers to choose from instead of those that start with the week. */
  readonly customers?: readonly Customer[];
  readonly run: (campaign: Campaign) => void;
}

/** Client properties of an attacker's session. */
export type Tool = Pick<VisitStart, 'device' | 'withoutCollector' | 'signals'>;

/** A person whose credentials or device an attacker has, and one of the person's visits. */
export interface Victim {
  readonly person: Person;
  readonly visit: PlannedSession;
}

/** Countries in which residential proxies are cheap. */
const CHEAP: readonly Abroad[] = ['BR', 'IN', 'VN', 'RU', 'ID', 'NG', 'TR', 'US'];
/** Share of a bought list whose owners have an account here, and the share of those accounts whose password is correct. */
const LIST_KNOWN = 0.08;
const LIST_FITS = 0.12;

/** One operator's attack on one customer. */
export class Campaign {
  readonly world: World;
  readonly random: Random;
  readonly customer: Customer;
  readonly country: Country;
  readonly kind: string;
  readonly actor: number;
  readonly sessions: number;
  readonly #known: readonly Person[];
  readonly #visits: readonly Victim[];

  constructor(
    world: World,
    parts: {
      readonly random: Random;
      readonly customer: Customer;
      readonly kind: string;
      readonly sessions: number;
      /** Members of the customer, and their visits. */
      readonly known: readonly Person[];
      readonly visits: readonly Victim[];
    },
  ) {
    this.world = world;
    this.random = parts.random;
    this.customer = parts.customer;
    this.country = parts.random.pick(parts.customer.countries);
    this.kind = parts.kind;
    this.sessions = parts.sessions;
    this.actor = world.newActor();
    this.#known = parts.known;
    this.#visits = parts.visits;
  }

  /**
   * Calls `each` once per session, with gaps that vary around `gapMs`. Starts at a random time such that all sessions fit into the week.
   */
  run(gapMs: number, each: (atMs: number, n: number) => void): void {
    const gaps = Array.from({ length: this.sessions }, () => gapMs * (0.4 + 1.2 * this.random.unit()));
    const fromMs = WEEK_START_MS + Math.max(0, this.customer.startsAfterMs);
    const roomMs = this.world.endMs - fromMs;
    const tookMs = gaps.reduce((sum, gap) => sum + gap, 0);
    // A campaign that would take longer than the available time runs faster.
    const pace = Math.min(1, (roomMs * 0.98) / tookMs);
    let atMs = fromMs + this.random.unit() * Math.max(0, roomMs - tookMs * pace);
    for (const [n, gap] of gaps.entries()) {
      each(Math.floor(atMs), n);
      atMs += gap * pace;
    }
  }

  /** Calls `each` once per session, at random times of the week. */
  scatter(each: (atMs: number, n: number) => void): void {
    const fromMs = WEEK_START_MS + Math.max(0, this.customer.startsAfterMs);
    for (let n = 0; n < this.sessions; n++)
      each(Math.floor(fromMs + this.random.unit() * (this.world.endMs - fromMs)), n);
  }

  session(
    atMs: number,
    start: Tool &
      Pick<Partial<VisitStart>, 'token' | 'referrer' | 'hidesReferrer' | 'createdMs'> & { readonly address: string },
    play: (visit: Visit) => void,
  ): void {
    const { customer, kind, actor } = this;
    const label = { customer, kind, actor, isAttack: true, isOrdinary: false, officeFirstDay: null };
    this.world.plan(atMs, label, (begin) => {
      const visit = new Visit({ ...begin, ...start, home: this.country });
      play(visit);
      return visit;
    });
  }

  /**
   * Draws an entry of a list of leaked passwords: mostly people without an account here, some members, and for some of these the correct
   * password.
   */
  listEntry(): { readonly account: Account; readonly outcome: 'succeeded' | 'failed' } {
    const isKnown = this.random.chance(LIST_KNOWN) && this.#known.length > 0;
    const account = isKnown ? this.random.pick(this.#known).account : drawAccount(this.country, this.random);
    return { account, outcome: isKnown && this.random.chance(LIST_FITS) ? 'succeeded' : 'failed' };
  }

  /** Draws an account of a member. */
  member(): Account {
    return this.#known.length > 0 ? this.random.pick(this.#known).account : drawAccount(this.country, this.random);
  }

  /** Draws a person with a visit that begins at least an hour before the end of the simulated days, or null when none is found. */
  victim(): Victim | null {
    for (let n = 0; n < 50 && this.#visits.length > 0; n++) {
      const victim = this.random.pick(this.#visits);
      if (victim.visit.startMs < this.world.endMs - HOUR_MS) return victim;
    }
    return null;
  }

  /** Draws a time hours or days after `afterMs`, within the simulated days. */
  later(afterMs: number, leastMs: number, mostMs: number): number {
    const last = this.world.endMs - 1;
    const from = Math.min(afterMs + leastMs, afterMs + (last - afterMs) / 2);
    return Math.floor(from + this.random.unit() * (Math.min(last, afterMs + mostMs) - from));
  }

  /** Draws the address of a residential proxy; `shareOfCountry` of them are in the customer's country, which costs more. */
  residential(shareOfCountry = 0.5): string {
    const { book } = this.world;
    return this.random.chance(shareOfCountry)
      ? book.home(this.country, this.random)
      : book.home(this.random.pick(CHEAP), this.random);
  }

  /** A script that pretends to be a browser and does not run page scripts. */
  script(): Tool {
    const device = this.world.devices.desktop(this.country, this.random);
    return { device: { ...device, language: this.random.chance(0.5) ? device.language : '' }, withoutCollector: true };
  }

  library(): Tool {
    const agent = this.random.pick([
      'python-requests/2.32.3',
      'Go-http-client/2.0',
      'axios/1.7.9',
      'curl/8.11.0',
      'okhttp/3.14.9',
    ]);
    return {
      device: { ...this.world.devices.desktop(this.country, this.random), agent, language: '' },
      withoutCollector: true,
    };
  }

  /** A browser that appears as a different machine in every session; for an app, a different installation. */
  freshBrowser(): Tool {
    const { devices } = this.world;
    if (this.customer.integration === 'app')
      return { device: devices.app(this.customer.name.replace(/-.*/, ''), this.country, this.random) };
    return {
      device: this.random.chance(0.7)
        ? devices.desktop(this.country, this.random)
        : devices.phone(this.country, this.random),
    };
  }

  /** A headless browser that identifies itself, either in its user agent or through the `webdriver` signal. */
  headless(): Tool {
    const device = this.world.devices.desktop(this.country, this.random);
    return this.random.chance(0.5)
      ? {
          device: {
            ...device,
            agent:
              'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36',
          },
          withoutCollector: true,
        }
      : { device, signals: { ...device.signals, webdriver: true } };
  }
}
