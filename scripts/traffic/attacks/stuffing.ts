import { neighbour } from '../addresses.ts';
import { HOUR_MS, MINUTE_MS } from '../calendar.ts';
import type { AttackKind, Campaign, Tool } from './campaign.ts';

/** Credential stuffing with lists of leaked passwords. */

interface Way {
  readonly gapMs: number;
  readonly address: (n: number) => string;
  readonly tool: () => Tool;
  /** Requests pages before the login. */
  readonly pagesBefore?: boolean;
  readonly token?: string;
}

function tryList(campaign: Campaign, { gapMs, address, tool, pagesBefore = false, token }: Way): void {
  campaign.run(gapMs, (atMs, n) => {
    const { account, outcome } = campaign.listEntry();
    const start = { ...tool(), address: address(n), ...(token !== undefined && { token }) };
    campaign.session(atMs, start, (visit) => {
      if (pagesBefore)
        visit.page('/').wait(visit.random.between(400, 3_000)).page('/login').wait(visit.random.between(900, 6_000));
      visit.login(account, outcome);
      if (outcome === 'succeeded') visit.wait(1_500).page('/account');
    });
  });
}

const once = (tool: Tool) => (): Tool => tool;

export const STUFFING: readonly AttackKind[] = [
  {
    kind: 'stuffing_one_address',
    campaigns: 6,
    sessions: 150,
    against: ['full', 'login'],
    run(campaign) {
      const address = campaign.residential(0.2);
      tryList(campaign, { gapMs: 1_500, address: () => address, tool: once(campaign.script()) });
    },
  },
  {
    kind: 'stuffing_library',
    campaigns: 4,
    sessions: 100,
    against: ['full', 'login', 'app'],
    run(campaign) {
      const address = campaign.world.book.hosting(campaign.random);
      tryList(campaign, { gapMs: 2_000, address: () => address, tool: once(campaign.library()) });
    },
  },
  {
    kind: 'stuffing_page_first',
    campaigns: 6,
    sessions: 150,
    against: ['full'],
    run(campaign) {
      const address = campaign.residential(0.5);
      tryList(campaign, { gapMs: 4_000, address: () => address, tool: () => campaign.script(), pagesBefore: true });
    },
  },
  {
    kind: 'stuffing_slow_one_address',
    campaigns: 4,
    sessions: 220,
    against: ['full', 'login'],
    run(campaign) {
      const address = campaign.residential(0.7);
      tryList(campaign, { gapMs: 6 * MINUTE_MS, address: () => address, tool: () => campaign.script() });
    },
  },
  {
    kind: 'stuffing_rotating_24',
    campaigns: 4,
    sessions: 250,
    against: ['full', 'login'],
    run(campaign) {
      const first = campaign.world.book.hosting(campaign.random);
      tryList(campaign, {
        gapMs: 12_000,
        address: () => neighbour(first, 24, campaign.random),
        tool: () => campaign.script(),
      });
    },
  },
  {
    kind: 'stuffing_residential',
    campaigns: 6,
    sessions: 320,
    against: ['full', 'login'],
    run(campaign) {
      tryList(campaign, { gapMs: 8_000, address: () => campaign.residential(), tool: () => campaign.script() });
    },
  },
  {
    kind: 'stuffing_residential_page_first',
    campaigns: 4,
    sessions: 260,
    against: ['full'],
    run(campaign) {
      tryList(campaign, {
        gapMs: 10_000,
        address: () => campaign.residential(),
        tool: () => campaign.freshBrowser(),
        pagesBefore: true,
      });
    },
  },
  {
    kind: 'stuffing_datacentre',
    campaigns: 4,
    sessions: 240,
    against: ['full', 'login', 'app'],
    run(campaign) {
      const addresses = Array.from({ length: 80 }, () => campaign.world.book.hosting(campaign.random));
      tryList(campaign, {
        gapMs: 9_000,
        address: () => campaign.random.pick(addresses),
        tool: () => (campaign.customer.integration === 'app' ? campaign.freshBrowser() : campaign.script()),
      });
    },
  },
  {
    kind: 'stuffing_ipv6',
    campaigns: 3,
    sessions: 220,
    against: ['full', 'login'],
    run(campaign) {
      const site = String(campaign.actor);
      tryList(campaign, {
        gapMs: 7_000,
        address: () => campaign.world.book.hostingIpv6(site, campaign.random),
        tool: () => campaign.script(),
      });
    },
  },
  {
    kind: 'stuffing_over_days',
    campaigns: 4,
    sessions: 260,
    against: ['full', 'login'],
    run(campaign) {
      tryList(campaign, {
        gapMs: 0.6 * HOUR_MS,
        address: () => campaign.residential(0.8),
        tool: () => campaign.freshBrowser(),
      });
    },
  },
  {
    kind: 'stuffing_app_one_address',
    campaigns: 4,
    sessions: 140,
    against: ['app'],
    run(campaign) {
      const address = campaign.residential(0.3);
      tryList(campaign, { gapMs: 3_000, address: () => address, tool: () => campaign.freshBrowser() });
    },
  },
  {
    kind: 'stuffing_app_residential',
    campaigns: 4,
    sessions: 280,
    against: ['app'],
    run(campaign) {
      tryList(campaign, { gapMs: 9_000, address: () => campaign.residential(), tool: () => campaign.freshBrowser() });
    },
  },
  {
    kind: 'stuffing_one_device',
    campaigns: 4,
    sessions: 150,
    against: ['full', 'login'],
    needsCollector: true,
    run(campaign) {
      // One real browser, controlled by a program, behind residential proxies.
      const tool = campaign.freshBrowser();
      tryList(campaign, { gapMs: 25_000, address: () => campaign.residential(), tool: () => tool });
    },
  },
  {
    kind: 'stuffing_copied_token',
    campaigns: 4,
    sessions: 90,
    against: ['full', 'login'],
    run(campaign) {
      // Took one session token from a browser and sends it with every request.
      const token = `s-copied.${campaign.random.hex(16)}`;
      tryList(campaign, {
        gapMs: 5_000,
        address: () => campaign.residential(),
        tool: once(campaign.script()),
        token,
      });
    },
  },
];
