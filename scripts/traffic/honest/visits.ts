import { AT_HOME, HOUR_MS, momentOn, ON_THE_WAY } from '../calendar.ts';
import type { Device } from '../devices.ts';
import type { PlannedSession } from '../events.ts';
import type { Random } from '../random.ts';
import { Visit } from '../visit.ts';
import type { World } from '../world.ts';
import type { Person } from '../people.ts';
import { addressAt, type Whereabouts } from './person.ts';
import { drawReferrer, playVisit, type VisitPlan } from './scripts.ts';

/** One visit of one person. */
export interface VisitOf {
  readonly atMs: number;
  readonly where: Whereabouts;
  /** Overrides the address that follows from `where`. */
  readonly address?: string;
  readonly device?: Device;
  readonly officeFirstDay?: boolean;
  readonly plan?: VisitPlan;
  /** When the person signed up, if that was in the week; Unix ms. */
  readonly createdMs?: number;
  readonly play?: (visit: Visit) => Visit;
}

/** Plans one visit. */
export function planVisit(world: World, person: Person, visit: VisitOf): PlannedSession | null {
  const { customer, kind, id: actor, isOrdinary } = person;
  const label = {
    customer,
    kind,
    actor,
    isOrdinary,
    isAttack: false,
    officeFirstDay: visit.officeFirstDay ?? null,
  };
  return world.plan(visit.atMs, label, (begin) => {
    const { random } = begin;
    const device = visit.device ?? (visit.where === 'road' || random.chance(0.5) ? person.phone : person.computer);
    const begun = new Visit({
      ...begin,
      device,
      address: visit.address ?? addressAt(world, person, visit.where, device, visit.atMs, random),
      referrer: drawReferrer(person, random),
      hidesReferrer: person.hidesReferrer,
      withoutCollector: person.blocksCollector,
      home: person.country,
      ...(visit.createdMs !== undefined && { createdMs: visit.createdMs }),
    });
    return visit.play === undefined ? playVisit(begun, person, visit.plan) : visit.play(begun);
  });
}

/** Choice: with this distribution 30,000 people make 73,000 visits in seven days. */
const VISITS_SHAPE = 1.36;
const VISITS_MAX = 45;

/** Share of visits that follow another visit, and the median gap between the two. */
const BURSTS = 0.4;
const BURST_GAP_MS = 1.5 * HOUR_MS;

/** Draws the number of visits in the simulated days; most people come once or twice, a few very often. */
export function drawVisits(world: World, random: Random): number {
  const inWeek = Math.floor(random.heavyTail(1, VISITS_SHAPE, VISITS_MAX));
  if (world.days >= 7) return inWeek;
  let visits = 0;
  for (let n = 0; n < inWeek; n++) if (random.chance(world.days / 7)) visits++;
  return visits;
}

/** Draws the times of the visits, in time order. */
export function drawMoments(
  world: World,
  person: Person,
  random: Random,
  visits = drawVisits(world, random),
): { readonly atMs: number; readonly where: Whereabouts }[] {
  const moments: { atMs: number; where: Whereabouts }[] = [];
  for (let n = 0; n < visits; n++) {
    const where: Whereabouts = random.chance(0.3) ? 'road' : 'home';
    const before = moments.at(-1);
    // Visits come in bursts: browsing on the way to work, buying in the evening.
    const atMs =
      before !== undefined && random.chance(BURSTS)
        ? before.atMs + Math.floor(random.logNormal(BURST_GAP_MS, 1.2))
        : momentOn(random.below(world.days), person.country, where === 'road' ? ON_THE_WAY : AT_HOME, random);
    moments.push({ where, atMs });
  }
  return moments.sort((a, b) => a.atMs - b.atMs);
}

/** Plans all visits of a person from home and on the road; the first visit of a new person is a sign-up. */
export function planEverydayVisits(
  world: World,
  person: Person,
  random: Random,
  change: (visit: VisitOf, n: number) => VisitOf = (visit) => visit,
): void {
  let signsUp = person.isNew && !person.isGuest && person.customer.integration !== 'payment';
  let createdMs: number | undefined;
  for (const [n, moment] of drawMoments(world, person, random).entries()) {
    const created = createdMs === undefined ? {} : { createdMs };
    const planned = planVisit(
      world,
      person,
      change({ ...moment, ...created, ...(signsUp && { plan: { signsUp } }) }, n),
    );
    if (planned === null) continue;
    if (signsUp) createdMs = planned.startMs;
    signsUp = false;
  }
}
