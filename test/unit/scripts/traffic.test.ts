import { describe, expect, test } from 'vitest';
import { parseDecideRequest } from '../../../src/risk/decide-request.ts';
import { ABROAD_BLOCKS, FIXED_BLOCKS, MOBILE_BLOCKS } from '../../../scripts/traffic/address-blocks.ts';
import { AddressBook, neighbour } from '../../../scripts/traffic/addresses.ts';
import { ATTACK_KINDS } from '../../../scripts/traffic/attacks/index.ts';
import { DAY_MS, WEEK_START_MS } from '../../../scripts/traffic/calendar.ts';
import type { PlannedSession, TrafficEvent } from '../../../scripts/traffic/events.ts';
import { Random } from '../../../scripts/traffic/random.ts';
import { eventsOf, planWeek, type WeekOptions } from '../../../scripts/traffic/week.ts';

/** A location database that contains the generator's own blocks. */
const OWN: readonly (readonly [string, string])[] = [ABROAD_BLOCKS, FIXED_BLOCKS, MOBILE_BLOCKS].flatMap((blocks) =>
  Object.entries(blocks),
);
const KNOWN = OWN.flatMap(([country, blocks]) => blocks.split(' ').map((block) => ({ country, ...rangeOf(block) })));

function findCountry(ip: string): string | null {
  const address = numberOf(ip);
  return KNOWN.find(({ first, size }) => address >= first && address < first + size)?.country ?? null;
}

function rangeOf(block: string): { first: number; size: number } {
  const [first = '', bits = ''] = block.split('/');
  return { first: numberOf(first), size: 2 ** (32 - Number(bits)) };
}

function numberOf(ip: string): number {
  return ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function plan(options: Partial<WeekOptions> = {}): readonly PlannedSession[] {
  return planWeek({ seed: 1, scale: 0.01, days: 7, attacks: true, ...options }, findCountry);
}

const week = plan();
const events: readonly TrafficEvent[] = [...eventsOf(week)];

describe('planWeek', () => {
  test('The generator gives the same events for the same seed and other events for another seed', () => {
    const again = [...eventsOf(plan())];
    expect(again.length).toBe(events.length);
    expect(again.at(100)).toEqual(events.at(100));
    expect(again.at(-1)).toEqual(events.at(-1));
    const other = [...eventsOf(plan({ seed: 2 }))];
    expect(other.at(100)?.body).not.toEqual(events.at(100)?.body);
  });

  test('The generator plays each session the same way, however often and in whatever order', () => {
    const [late, early] = [week.at(-1), week.at(0)];
    const first = late?.play();
    early?.play();
    expect(late?.play()).toEqual(first);
  });

  test('Most people pay at home with a card of their country, stolen cards come from anywhere and buy more', () => {
    const paid = (isAttack: (session: PlannedSession['label']) => boolean): readonly Record<string, unknown>[] =>
      events
        .filter(({ body, session }) => body.event_type === 'payment' && isAttack(session))
        .map(({ body }) => body.attributes ?? {});
    const people = paid((session) => !session.isAttack && session.customer.integration === 'full');
    const thieves = paid(({ kind }) => kind === 'stolen_card_purchase');
    const testers = paid(({ kind, customer }) => kind.startsWith('cards_') && customer.integration === 'full');
    const share = (rows: readonly Record<string, unknown>[]): number =>
      rows.filter((row) => row['card_country'] !== row['billing_country']).length / rows.length;
    expect(share(people)).toBeGreaterThan(0.02);
    expect(share(people)).toBeLessThan(0.09);
    expect(share(testers)).toBeGreaterThan(0.12);
    const median = (rows: readonly Record<string, unknown>[]): number =>
      rows.map((row) => Number(row['amount'])).sort((a, b) => a - b)[rows.length >> 1] ?? 0;
    expect(median(thieves)).toBeGreaterThan(2 * median(people));
    expect(people.every((row) => row['currency'] === 'EUR' || row['currency'] === 'CAD')).toBe(true);
  });

  test('An account is older than its orders', () => {
    const orders = events.filter(({ body }) => body.attributes?.['account_created_at'] !== undefined);
    expect(orders.length).toBeGreaterThan(100);
    for (const { body, atMs } of orders)
      expect(Number(body.attributes?.['account_created_at'])).toBeLessThanOrEqual(atMs / 1_000);
  });

  test('The generator has the same people with and without attacks', () => {
    const without = plan({ attacks: false });
    expect(without.every(({ label }) => !label.isAttack)).toBe(true);
    const honest = week.filter(({ label }) => !label.isAttack);
    expect(without.map(({ startMs, label }) => [startMs, label.id])).toEqual(
      honest.map(({ startMs, label }) => [startMs, label.id]),
    );
    expect([...eventsOf(without)].at(50)?.body).toEqual([...eventsOf(honest)].at(50)?.body);
  });

  test('No session begins outside of the days or before its customer uses the service', () => {
    for (const { startMs, label } of week) {
      expect(startMs).toBeGreaterThanOrEqual(WEEK_START_MS + label.customer.startsAfterMs);
      expect(startMs).toBeLessThan(WEEK_START_MS + 7 * DAY_MS);
    }
  });

  test('Every day has attacks of every kind', () => {
    const attacks = week.filter(({ label }) => label.isAttack);
    expect(new Set(attacks.map(({ label }) => label.kind))).toEqual(new Set(ATTACK_KINDS.map(({ kind }) => kind)));
    for (let day = 0; day < 7; day++) {
      const from = WEEK_START_MS + day * DAY_MS;
      expect(attacks.filter(({ startMs }) => startMs >= from && startMs < from + DAY_MS).length).toBeGreaterThan(20);
    }
  });

  test('Most people are ordinary, and every kind of group occurs', () => {
    const larger = plan({ scale: 0.05, attacks: false });
    const ordinary = larger.filter(({ label }) => label.isOrdinary).length / larger.length;
    expect(ordinary).toBeGreaterThan(0.6);
    const kinds = new Set(larger.map(({ label }) => label.kind));
    for (const kind of ['office_small', 'office_large', 'campus', 'class_signs_up', 'shop_tablet', 'call_centre'])
      expect(kinds).toContain(kind);
    const people = new Set(larger.map(({ label }) => label.actor)).size;
    // Few visit often: the average is somewhat over two visits a week.
    expect(larger.length / people).toBeGreaterThan(1.8);
    expect(larger.length / people).toBeLessThan(3);
  });

  test('The first day of an office is marked, and people outside of offices are not', () => {
    const fromOffices = week.filter(({ label }) => label.officeFirstDay !== null);
    expect(fromOffices.some(({ label }) => label.officeFirstDay === true)).toBe(true);
    expect(fromOffices.some(({ label }) => label.kind === 'home')).toBe(false);
  });
});

describe('eventsOf', () => {
  test('Events come in the order of their time', () => {
    expect(events.every(({ atMs }, n) => n === 0 || atMs >= (events[n - 1]?.atMs ?? 0))).toBe(true);
    expect(events.length).toBe(week.reduce((sum, session) => sum + session.play().length, 0));
  });

  test('Every body is a valid decide request', () => {
    for (const { body } of events.slice(0, 1_000)) {
      const parsed = parseDecideRequest(Buffer.from(JSON.stringify(body)));
      if (parsed.kind === 'fault') throw new Error(JSON.stringify(parsed.problem));
      expect(parsed.request.sessionToken).not.toBe('');
    }
  });

  test('A customer sends only its own types of events', () => {
    const foreign = events.filter(({ body, session }) => !session.customer.events.has(body.event_type));
    expect(foreign).toEqual([]);
  });

  test('The outcome is known for each attempt and for nothing else', () => {
    const attempts = new Set(['login', 'signup', 'payment', 'password_reset', 'profile_change', 'gift_card_check']);
    const wrong = events.filter(({ body, outcome }) => (outcome !== null) !== attempts.has(body.event_type));
    expect(wrong).toEqual([]);
  });

  test('Some logins of people fail, and some of their cards are declined', () => {
    const honest = events.filter(({ session }) => !session.isAttack);
    const share = (type: string, outcome: string): number => {
      const of = honest.filter(({ body }) => body.event_type === type);
      return of.filter((event) => event.outcome === outcome).length / of.length;
    };
    expect(share('login', 'failed')).toBeGreaterThan(0.04);
    expect(share('login', 'failed')).toBeLessThan(0.3);
    expect(share('payment', 'declined')).toBeGreaterThan(0.02);
    expect(share('payment', 'declined')).toBeLessThan(0.2);
  });
});

describe('AddressBook', () => {
  const book = new AddressBook(findCountry, 1, 0.1);

  test('Homes and gateways are drawn from the country', () => {
    const random = new Random('homes');
    for (let n = 0; n < 50; n++) expect(findCountry(book.home('IT', random))).toBe('IT');
    for (const gateway of book.gateways('CA')) expect(findCountry(gateway)).toBe('CA');
  });

  test('A dynamic line has another address of its region on another day, and the same one on the same day', () => {
    const line = { ...book.line('DE', new Random('line')), isDynamic: true };
    expect(book.addressOf(line, 3)).toBe(book.addressOf(line, 3));
    expect(book.addressOf(line, 3)).not.toBe(book.addressOf(line, 4));
    expect(Math.abs(numberOf(book.addressOf(line, 3)) - line.address)).toBeLessThan(2 ** 14);
    expect(book.addressOf({ ...line, isDynamic: false }, 5)).toBe(book.addressOf(line, 0));
  });

  test('A neighbour of an address is in the same network', () => {
    const random = new Random('neighbours');
    for (let n = 0; n < 100; n++) expect(neighbour('5.9.17.200', 24, random)).toMatch(/^5\.9\.17\.\d+$/);
  });
});
