import { unreachable } from '../../../src/kernel/brand.ts';
import { HOUR_MS } from '../calendar.ts';
import { drawCard, mistyped } from '../identities.ts';
import type { Random } from '../random.ts';
import type { Visit } from '../visit.ts';
import type { Person } from '../people.ts';

/** What a person does in one visit; depends on the customer's integration. */
export interface VisitPlan {
  /** Whether the person signs up in this visit. */
  readonly signsUp?: boolean;
  /** Purpose of the visit; drawn when absent. */
  readonly purpose?: 'browse' | 'buy' | 'account';
  /** An event in the middle of the visit, such as leaving the house or enabling a VPN. */
  readonly midway?: (visit: Visit) => void;
  /** Whether the cookie of an earlier visit is unusable: another device, or cookies were cleared. */
  readonly mustLogIn?: boolean;
}

/** Share of visits whose cookie is still valid. */
const REMEMBERED = 0.55;
/** Share of tabs that stay open until the next day. */
const LEFT_OPEN = 0.012;
/** Share of first payments that the bank declines. Source: providers publish 5 to 15 % without a card present. */
const DECLINED = 0.07;

export function playVisit(visit: Visit, person: Person, plan: VisitPlan = {}): Visit {
  switch (person.customer.integration) {
    case 'full':
      return playShop(visit, person, plan);
    case 'login':
      return playLogin(visit, person, plan);
    case 'payment':
      return pay(visit, person, person.account.email);
    case 'app':
      return playApp(visit, person, plan);
    default:
      return unreachable(person.customer.integration);
  }
}

function playShop(visit: Visit, person: Person, plan: VisitPlan): Visit {
  const { random } = visit;
  const { account, isGuest } = person;
  const purpose =
    plan.purpose ??
    random.weighted([
      ['browse', 54],
      ['buy', 26],
      ['account', isGuest ? 0 : 20],
    ]);
  const isRemembered = !isGuest && plan.signsUp !== true && plan.mustLogIn !== true && random.chance(REMEMBERED);
  if (isRemembered) visit.remembered(account);
  browse(visit, purpose === 'account' ? 1 : Math.floor(random.heavyTail(1, 1.1, 60)));
  plan.midway?.(visit);
  if (random.chance(LEFT_OPEN)) visit.wait(random.between(14, 30) * HOUR_MS);
  if (plan.signsUp === true) {
    visit.page('/register').think(50).signup(account).think(8);
  } else if (!isGuest && !isRemembered && (purpose !== 'browse' || random.chance(0.25))) {
    if (random.chance(0.8)) visit.page('/login').think(9);
    logIn(visit, person);
  }
  if (purpose === 'account') {
    visit.page('/account').think(15).page('/account/orders').think(20);
    if (random.chance(0.06)) visit.page('/account/profile').think(30).profileChange();
  }
  if (purpose !== 'buy') return visit;
  browse(visit, 1 + random.below(3));
  visit
    .page('/basket')
    .think(15)
    .checkout(isGuest ? account.email : undefined)
    .think(70);
  return pay(visit, person, isGuest ? account.email : undefined);
}

function browse(visit: Visit, pages: number): void {
  for (let n = 0; n < pages; n++) {
    if (visit.random.chance(0.25)) visit.search();
    else visit.page();
    visit.think(18);
  }
}

function playLogin(visit: Visit, person: Person, plan: VisitPlan): Visit {
  if (plan.signsUp === true) return visit.think(40).signup(person.account);
  logIn(visit, person);
  if (visit.random.chance(0.04)) visit.think(120).profileChange();
  return visit;
}

function playApp(visit: Visit, person: Person, plan: VisitPlan): Visit {
  const { random } = visit;
  if (plan.signsUp === true) visit.think(30).signup(person.account).think(5);
  else if (plan.mustLogIn === true || random.chance(0.25)) logIn(visit, person);
  else visit.remembered(person.account);
  plan.midway?.(visit);
  for (let n = random.between(1, 4); n > 0; n--) visit.think(10).search();
  const buys = plan.purpose === undefined ? random.chance(0.38) : plan.purpose === 'buy';
  if (!buys) return visit;
  visit.think(60).checkout().think(25);
  return pay(visit, person);
}

/** Repeats the login until it succeeds or the person gives up: a typing error, another password, finally a reset. */
export function logIn(visit: Visit, person: Person): boolean {
  const { random } = visit;
  const { account } = person;
  if (!random.chance(person.mistakes)) {
    visit.login(account).think(4);
    return true;
  }
  const tries = 1 + Math.min(11, Math.floor(random.exponential(person.mistakes > 0.3 ? 3.5 : 0.9)));
  for (let n = 0; n < tries; n++)
    visit.login(account, 'failed', random.chance(0.12) ? mistyped(account.email, random) : account.email).think(9);
  if (tries >= 3 && random.chance(0.6)) visit.passwordReset(account).think(90);
  else if (random.chance(0.12)) return false;
  visit.login(account).think(4);
  return true;
}

/** Pays with another try or a second card when the bank declines. */
export function pay(visit: Visit, person: Person, email?: string): Visit {
  const { random } = visit;
  let { card } = person;
  for (let n = 0; n < 3; n++) {
    if (!random.chance(n === 0 ? DECLINED : 0.35)) return visit.pay(card, 'succeeded', email);
    visit.pay(card, 'declined', email).think(40);
    if (random.chance(0.2)) return visit;
    if (random.chance(0.4)) card = drawCard(random);
  }
  return visit;
}

/** Draws the referrer of a visit's first page. */
export function drawReferrer(person: Person, random: Random): string | null {
  if (person.hidesReferrer) return null;
  const own = `https://${person.customer.host}/`;
  if (person.customer.integration !== 'full') return random.chance(0.55) ? own : null;
  return random.weighted([
    ['https://www.google.com/', 40],
    [null, 36],
    ['https://www.instagram.com/', 10],
    ['https://mail.example/', 4],
    [own, 10],
  ]);
}
