import type { Customer } from '../customers.ts';
import { CUSTOMERS } from '../customers.ts';
import type { Person } from '../people.ts';
import type { World } from '../world.ts';
import { BOTS } from './bots.ts';
import { BOUGHT } from './bought.ts';
import { Campaign, type AttackKind, type Victim } from './campaign.ts';
import { CARDS } from './cards.ts';
import { GUESSING } from './guessing.ts';
import { SCRAPING } from './scraping.ts';
import { SIGNUPS } from './signups.ts';
import { STUFFING } from './stuffing.ts';
import { TAKEOVER } from './takeover.ts';

export const ATTACK_KINDS: readonly AttackKind[] = [
  ...STUFFING,
  ...GUESSING,
  ...TAKEOVER,
  ...CARDS,
  ...SIGNUPS,
  ...SCRAPING,
  ...BOTS,
  ...BOUGHT,
];

/** Choice: a smaller campaign would hide effects that need a whole campaign. */
const SESSIONS_MIN = 12;

/**
 * Plans attacks over all days. Fewer days and smaller scales have fewer campaigns of the same size and speed; where less than one campaign
 * remains, a smaller one.
 */
export function planAttacks(world: World): void {
  const members = groupMembers(world);
  for (const attack of ATTACK_KINDS) {
    const due = (attack.campaigns * world.scale * Math.min(world.days, 7)) / 7;
    const campaigns = Math.max(1, Math.round(due));
    const sessions =
      due >= 1
        ? attack.sessions
        : Math.min(attack.sessions, Math.max(SESSIONS_MIN, Math.round(attack.sessions * Math.sqrt(due))));
    for (let n = 0; n < campaigns; n++) {
      const random = world.random('attack', attack.kind, n);
      const customer = random.pick(targetsOf(attack, world));
      const { known, visits } = members.get(customer.number) ?? { known: [], visits: [] };
      attack.run(new Campaign(world, { random, customer, kind: attack.kind, sessions, known, visits }));
    }
  }
}

function targetsOf(
  { kind, against, needsCollector = false, customers = CUSTOMERS }: AttackKind,
  world: World,
): readonly Customer[] {
  const isThere = (customer: Customer): boolean =>
    against.includes(customer.integration) &&
    (!needsCollector || customer.hasCollector) &&
    customer.startsAfterMs < world.days * 86_400_000 &&
    (kind !== 'ticket_bots' || customer.name === 'outdoor');
  return customers.filter(isThere);
}

interface Members {
  readonly known: Person[];
  /** Visits of people with an account. */
  readonly visits: Victim[];
}

function groupMembers(world: World): ReadonlyMap<number, Members> {
  const members = new Map<number, Members>();
  const byId = new Map<number, Person>();
  for (const person of world.people) {
    byId.set(person.id, person);
    if (person.isGuest || person.isNew) continue;
    const group = members.get(person.customer.number) ?? { known: [], visits: [] };
    group.known.push(person);
    members.set(person.customer.number, group);
  }
  for (const visit of world.sessions) {
    const person = byId.get(visit.label.actor);
    if (person === undefined || person.isGuest || person.isNew) continue;
    members.get(person.customer.number)?.visits.push({ person, visit });
  }
  return members;
}
