import type { Abroad } from '../addresses.ts';
import { HOUR_MS, WEEK_START_MS, type Country } from '../calendar.ts';
import type { Customer, Integration } from '../customers.ts';
import type { PlannedSession } from '../events.ts';
import type { Person } from '../honest/person.ts';
import { drawAccount, type Account } from '../identities.ts';
import type { Random } from '../random.ts';
import { Visit, type VisitStart } from '../visit.ts';
import type { World } from '../world.ts';

/** What one kind of attackers does. */
export interface AttackKind {
  readonly kind: string;
  /** Operators in a week at full scale. */
  readonly campaigns: number;
  /** Sessions of each. */
  readonly sessions: number;
  /** Customers that it is aimed at. */
  readonly against: readonly Integration[];
  readonly needsCollector?: boolean;
  readonly run: (campaign: Campaign) => void;
}

/** What an attacker's session is sent with. */
export type Tool = Pick<VisitStart, 'device' | 'withoutCollector' | 'signals'>;

/** Somebody of whom an attacker has something, and a visit of theirs. */
export interface Victim {
  readonly person: Person;
  readonly visit: PlannedSession;
}

/** Countries in which lines for hire are cheap. */
const CHEAP: readonly Abroad[] = ['BR', 'IN', 'VN', 'RU', 'ID', 'NG', 'TR', 'US'];
/** Share of a bought list whose owners have an account here, and of those the share whose password fits. */
const LIST_KNOWN = 0.08;
const LIST_FITS = 0.12;

/** One operator's work against one customer. */
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

  /** Calls `each` once a session, with gaps that vary around `gapMs`, from a random moment on from which all fit into the week. */
  run(gapMs: number, each: (atMs: number, n: number) => void): void {
    const gaps = Array.from({ length: this.sessions }, () => gapMs * (0.4 + 1.2 * this.random.unit()));
    const fromMs = WEEK_START_MS + this.customer.startsAfterMs;
    const roomMs = this.world.endMs - fromMs;
    const tookMs = gaps.reduce((sum, gap) => sum + gap, 0);
    // One that would last longer than there is time works faster.
    const pace = Math.min(1, (roomMs * 0.98) / tookMs);
    let atMs = fromMs + this.random.unit() * Math.max(0, roomMs - tookMs * pace);
    for (const [n, gap] of gaps.entries()) {
      each(Math.floor(atMs), n);
      atMs += gap * pace;
    }
  }

  /** Calls `each` once a session, at moments anywhere in the week. */
  scatter(each: (atMs: number, n: number) => void): void {
    const fromMs = WEEK_START_MS + this.customer.startsAfterMs;
    for (let n = 0; n < this.sessions; n++)
      each(Math.floor(fromMs + this.random.unit() * (this.world.endMs - fromMs)), n);
  }

  session(
    atMs: number,
    start: Tool & Pick<Partial<VisitStart>, 'token' | 'referrer' | 'hidesReferrer'> & { readonly address: string },
    play: (visit: Visit) => void,
  ): void {
    const { customer, kind, actor } = this;
    const label = { customer, kind, actor, isAttack: true, isOrdinary: false, officeFirstDay: null };
    this.world.plan(atMs, label, (begin) => {
      const visit = new Visit({ ...begin, ...start });
      play(visit);
      return visit;
    });
  }

  /** An entry of a list of leaked passwords: mostly strangers, some members, and of those some whose password fits. */
  listEntry(): { readonly account: Account; readonly outcome: 'succeeded' | 'failed' } {
    const isKnown = this.random.chance(LIST_KNOWN) && this.#known.length > 0;
    const account = isKnown ? this.random.pick(this.#known).account : drawAccount(this.country, this.random);
    return { account, outcome: isKnown && this.random.chance(LIST_FITS) ? 'succeeded' : 'failed' };
  }

  /** A member. */
  member(): Account {
    return this.#known.length > 0 ? this.random.pick(this.#known).account : drawAccount(this.country, this.random);
  }

  /** Somebody with a visit that is over at least an hour before the days end; null where nobody is. */
  victim(): Victim | null {
    for (let n = 0; n < 50 && this.#visits.length > 0; n++) {
      const victim = this.random.pick(this.#visits);
      if (victim.visit.startMs < this.world.endMs - HOUR_MS) return victim;
    }
    return null;
  }

  /** A moment after that, hours or days later, within the simulated days. */
  later(afterMs: number, leastMs: number, mostMs: number): number {
    const last = this.world.endMs - 1;
    const from = Math.min(afterMs + leastMs, afterMs + (last - afterMs) / 2);
    return Math.floor(from + this.random.unit() * (Math.min(last, afterMs + mostMs) - from));
  }

  /** A home somewhere: of the customer's country for those who pay for it. */
  residential(shareOfCountry = 0.5): string {
    const { book } = this.world;
    return this.random.chance(shareOfCountry)
      ? book.home(this.country, this.random)
      : book.home(this.random.pick(CHEAP), this.random);
  }

  /** A script that calls itself a browser and runs no page's scripts. */
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

  /** A browser that makes itself another machine for every session; in an app another installation. */
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

  /** A browser without a window that says so, in its agent or to the page's scripts. */
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
