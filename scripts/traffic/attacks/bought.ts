import { MINUTE_MS } from '../calendar.ts';
import { ESTABLISHED } from '../customers.ts';
import { drawAccount } from '../identities.ts';
import type { AttackKind, Campaign, Tool } from './campaign.ts';

/** Attackers who try to look like people: with accounts of their own, by waiting, with tokens that cannot be read, in a flood. */

/** Numbers of own accounts, by campaign. */
const OWN_ACCOUNTS = [1, 5, 20, 1] as const;

interface Way {
  readonly gapMs: number;
  readonly address: () => string;
  readonly tool: () => Tool;
}

/** In each session one account of the list is tried, and then the attacker logs in with an own account. */
function tryListWithOwn(campaign: Campaign, { gapMs, address, tool }: Way): void {
  const accounts = campaign.random.pick(OWN_ACCOUNTS);
  const own = Array.from({ length: accounts }, () => drawAccount(campaign.country, campaign.random));
  campaign.run(gapMs, (atMs, n) => {
    const { account, outcome } = campaign.listEntry();
    campaign.session(atMs, { ...tool(), address: address() }, (visit) => {
      visit.login(account, outcome).wait(400);
      visit.login(own[n % accounts] ?? account, 'succeeded');
    });
  });
}

export const BOUGHT: readonly AttackKind[] = [
  {
    kind: 'stuffing_own_accounts',
    campaigns: 6,
    sessions: 200,
    against: ['full', 'login'],
    run(campaign) {
      const address = campaign.residential(0.5);
      tryListWithOwn(campaign, { gapMs: 2_000, address: () => address, tool: () => campaign.script() });
    },
  },
  {
    kind: 'stuffing_own_accounts_slow',
    campaigns: 4,
    sessions: 200,
    against: ['full', 'login'],
    run(campaign) {
      const address = campaign.residential(0.7);
      tryListWithOwn(campaign, { gapMs: 6 * MINUTE_MS, address: () => address, tool: () => campaign.script() });
    },
  },
  {
    kind: 'stuffing_own_accounts_residential',
    campaigns: 4,
    sessions: 280,
    against: ['full', 'login'],
    run(campaign) {
      tryListWithOwn(campaign, {
        gapMs: 8_000,
        address: () => campaign.residential(),
        tool: () => campaign.script(),
      });
    },
  },
  {
    kind: 'stuffing_waits',
    campaigns: 4,
    sessions: 280,
    against: ['full'],
    run(campaign) {
      campaign.run(8_000, (atMs) => {
        const { account, outcome } = campaign.listEntry();
        const start = { ...campaign.freshBrowser(), address: campaign.residential() };
        campaign.session(atMs, start, (visit) => {
          visit.page('/login').wait(visit.random.between(21_000, 45_000)).login(account, outcome);
        });
      });
    },
  },
  {
    kind: 'stuffing_broken_tokens',
    campaigns: 4,
    sessions: 200,
    against: ['full', 'login'],
    needsCollector: true,
    run(campaign) {
      campaign.run(9_000, (atMs) => {
        const { account, outcome } = campaign.listEntry();
        const token = `st2.${campaign.random.hex(40)}`;
        const start = { ...campaign.script(), address: campaign.residential(), token };
        campaign.session(atMs, start, (visit) => visit.login(account, outcome));
      });
    },
  },
  {
    kind: 'flood_of_unknowns',
    campaigns: 2,
    sessions: 900,
    against: ['full', 'login'],
    run(campaign) {
      const addresses = Array.from({ length: 300 }, () => campaign.world.book.hosting(campaign.random));
      campaign.run(500, (atMs) => {
        const account = drawAccount(campaign.country, campaign.random);
        const start = { ...campaign.script(), address: campaign.random.pick(addresses) };
        campaign.session(atMs, start, (visit) => visit.login(account, 'failed'));
      });
    },
  },
  {
    kind: 'stuffing_shops_own_list',
    campaigns: 4,
    sessions: 150,
    against: ['full', 'login'],
    customers: ESTABLISHED,
    run(campaign) {
      // The list comes from the shop itself: every account exists and has been known for over a week.
      const address = campaign.residential(1);
      campaign.run(2_000, (atMs) => {
        const account = campaign.member();
        campaign.session(atMs, { ...campaign.script(), address }, (visit) => visit.login(account, 'failed'));
      });
    },
  },
];
