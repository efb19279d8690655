import { neighbour } from '../addresses.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../calendar.ts';
import { drawCard, type Account } from '../identities.ts';
import type { Visit } from '../visit.ts';
import { dayOf } from '../world.ts';
import type { AttackKind, Campaign, Tool, Victim } from './campaign.ts';

/** Takeover of other people's accounts, with the correct password or without needing one. */

interface Theft {
  readonly tool: Tool;
  readonly address: string;
  readonly atMs: number;
  readonly play?: (visit: Visit, account: Account) => void;
}

/** Plans one session per victim, some time after one of the victim's visits. */
function takeOver(campaign: Campaign, theftOf: (victim: Victim) => Theft): void {
  for (let n = 0; n < campaign.sessions; n++) {
    const victim = campaign.victim();
    if (victim === null) return;
    const { tool, address, atMs, play = lookAround } = theftOf(victim);
    campaign.session(atMs, { ...tool, address }, (visit) => play(visit, victim.person.account));
  }
}

function enter(visit: Visit, account: Account): void {
  if (visit.label.customer.integration === 'full' && visit.random.chance(0.7)) visit.page('/login').think(6);
  visit.login(account).think(8);
}

function lookAround(visit: Visit, account: Account): void {
  enter(visit, account);
  if (visit.label.customer.integration === 'full') visit.page('/account').think(12).page('/account/orders').think(15);
}

/** Changes the profile so that the owner is not notified, then buys. */
function takeValue(visit: Visit, account: Account): void {
  lookAround(visit, account);
  visit.profileChange().think(25);
  if (visit.label.customer.integration !== 'login') visit.checkout().think(30).pay(drawCard(visit.random));
}

const daysLater = (campaign: Campaign, { visit }: Victim): number => campaign.later(visit.startMs, DAY_MS, 5 * DAY_MS);

export const TAKEOVER: readonly AttackKind[] = [
  {
    kind: 'takeover_same_country',
    campaigns: 6,
    sessions: 30,
    against: ['full', 'login', 'app'],
    run: (campaign) =>
      takeOver(campaign, (victim) => ({
        tool: campaign.freshBrowser(),
        address: campaign.world.book.home(victim.person.country, campaign.random),
        atMs: daysLater(campaign, victim),
      })),
  },
  {
    kind: 'takeover_abroad_days_later',
    campaigns: 6,
    sessions: 30,
    against: ['full', 'login', 'app'],
    run: (campaign) =>
      takeOver(campaign, (victim) => ({
        tool: campaign.freshBrowser(),
        address: campaign.residential(0),
        atMs: daysLater(campaign, victim),
      })),
  },
  {
    kind: 'takeover_abroad_at_once',
    campaigns: 4,
    sessions: 30,
    against: ['full', 'login', 'app'],
    run: (campaign) =>
      takeOver(campaign, (victim) => ({
        tool: campaign.freshBrowser(),
        address: campaign.residential(0),
        // The owner entered the password on a phishing page shortly before.
        atMs: campaign.later(victim.visit.startMs, 10 * MINUTE_MS, 3 * HOUR_MS),
      })),
  },
  {
    kind: 'takeover_then_value',
    campaigns: 5,
    sessions: 30,
    against: ['full', 'app'],
    run: (campaign) =>
      takeOver(campaign, (victim) => ({
        tool: campaign.freshBrowser(),
        address: campaign.residential(0.7),
        atMs: daysLater(campaign, victim),
        play: takeValue,
      })),
  },
  {
    kind: 'takeover_through_vpn',
    campaigns: 4,
    sessions: 30,
    against: ['full', 'login'],
    run: (campaign) =>
      takeOver(campaign, (victim) => ({
        tool: campaign.freshBrowser(),
        address: campaign.random.chance(0.5)
          ? campaign.world.book.vpn(campaign.random)
          : campaign.world.book.hosting(campaign.random),
        atMs: daysLater(campaign, victim),
        play: takeValue,
      })),
  },
  {
    kind: 'takeover_by_reset',
    campaigns: 4,
    sessions: 20,
    against: ['full', 'login', 'app'],
    run: (campaign) =>
      takeOver(campaign, (victim) => ({
        // The mailbox or phone number was taken over before.
        tool: campaign.freshBrowser(),
        address: campaign.random.pick(campaign.world.book.gateways(victim.person.country)),
        atMs: daysLater(campaign, victim),
        play(visit, account) {
          visit.passwordReset(account).think(60);
          takeValue(visit, account);
        },
      })),
  },
  {
    kind: 'cloned_device_same_city',
    campaigns: 4,
    sessions: 25,
    against: ['full', 'login'],
    needsCollector: true,
    run: (campaign) =>
      takeOver(campaign, (victim) => {
        const { line, computer } = victim.person;
        const address = campaign.world.book.addressOf(line, dayOf(victim.visit.startMs));
        return {
          tool: { device: computer },
          address: neighbour(address, 20, campaign.random),
          atMs: daysLater(campaign, victim),
          play: takeValue,
        };
      }),
  },
  {
    kind: 'stolen_session',
    campaigns: 5,
    sessions: 30,
    against: ['full'],
    run(campaign) {
      for (let n = 0; n < campaign.sessions; n++) {
        const victim = campaign.victim();
        if (victim === null) return;
        const { visit: stolen, person } = victim;
        // Uses the session cookie while it is valid, from another machine.
        const atMs = campaign.later(stolen.startMs, 15 * MINUTE_MS, 6 * HOUR_MS);
        const token = stolen.play()[0]?.body.session_token ?? '';
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential(), token }, (visit) => {
          visit.remembered(person.account).page('/account').think(8).profileChange().think(15);
          if (visit.random.chance(0.6)) visit.checkout().think(20).pay(person.card);
        });
      }
    },
  },
];
