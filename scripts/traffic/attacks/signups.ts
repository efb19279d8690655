import { neighbour } from '../addresses.ts';
import { MINUTE_MS } from '../calendar.ts';
import { DISPOSABLE, drawAccount, drawEmail, unlistedDomain, type Account } from '../identities.ts';
import type { Random } from '../random.ts';
import type { AttackKind, Campaign, Tool } from './campaign.ts';

/** Mass-created accounts for bonuses, reviews and resale. */

interface Farm {
  readonly gapMs: number;
  readonly address: () => string;
  readonly tool?: () => Tool;
  readonly email?: (random: Random, n: number) => string;
}

function farm(campaign: Campaign, { gapMs, address, tool = () => campaign.freshBrowser(), email }: Farm): void {
  campaign.run(gapMs, (atMs, n) => {
    campaign.session(atMs, { ...tool(), address: address() }, (visit) => {
      const drawn = drawAccount(campaign.country, visit.random);
      const account: Account = email === undefined ? drawn : { ...drawn, email: email(visit.random, n) };
      if (visit.label.customer.integration === 'full') visit.page('/register').wait(visit.random.between(2_000, 9_000));
      visit.signup(account);
      if (visit.random.chance(0.4)) visit.think(5).page('/account/bonus');
    });
  });
}

/** Adds dots or a tag, which mail providers ignore: all variants belong to one mailbox. */
function variantOf(mailbox: string, random: Random, n: number): string {
  const [local = '', domain = ''] = mailbox.split('@');
  if (random.chance(0.4)) return `${local}+${random.pick(['shop', 'promo', 'x', 'new'])}${n}@${domain}`;
  const letters = local.split('').map((letter, at) => (at > 0 && random.chance(0.3) ? `.${letter}` : letter));
  return `${letters.join('')}@${domain}`;
}

export const SIGNUPS: readonly AttackKind[] = [
  {
    kind: 'signups_one_address',
    campaigns: 6,
    sessions: 50,
    against: ['full', 'login', 'app'],
    run(campaign) {
      const address = campaign.residential();
      farm(campaign, { gapMs: 90_000, address: () => address });
    },
  },
  {
    kind: 'signups_rotating_24',
    campaigns: 4,
    sessions: 80,
    against: ['full', 'login'],
    run(campaign) {
      const first = campaign.world.book.hosting(campaign.random);
      farm(campaign, {
        gapMs: 60_000,
        address: () => neighbour(first, 24, campaign.random),
        tool: () => campaign.script(),
      });
    },
  },
  {
    kind: 'signups_residential',
    campaigns: 4,
    sessions: 200,
    against: ['full', 'login', 'app'],
    run: (campaign) => farm(campaign, { gapMs: 40_000, address: () => campaign.residential() }),
  },
  {
    kind: 'signups_disposable_mail',
    campaigns: 4,
    sessions: 60,
    against: ['full', 'login', 'app'],
    run: (campaign) =>
      farm(campaign, {
        gapMs: 2 * MINUTE_MS,
        address: () => campaign.residential(),
        email: (random) => `${random.hex(9)}@${random.pick(DISPOSABLE)}`,
      }),
  },
  {
    kind: 'signups_unlisted_domains',
    campaigns: 4,
    sessions: 130,
    against: ['full', 'login', 'app'],
    run(campaign) {
      const domains = Array.from({ length: 4 }, (_, n) => unlistedDomain(`${campaign.actor}${n}`, campaign.random));
      farm(campaign, {
        gapMs: 2 * MINUTE_MS,
        address: () => campaign.residential(),
        email: (random) => `${drawEmail(campaign.country, random).split('@')[0]}@${random.pick(domains)}`,
      });
    },
  },
  {
    kind: 'signups_one_mailbox',
    campaigns: 5,
    sessions: 80,
    against: ['full', 'login', 'app'],
    run(campaign) {
      const mailbox = `${drawEmail(campaign.country, campaign.random).split('@')[0]?.replaceAll('.', '')}@gmail.com`;
      farm(campaign, {
        gapMs: 5 * MINUTE_MS,
        address: () => campaign.residential(),
        email: (random, n) => variantOf(mailbox, random, n),
      });
    },
  },
  {
    kind: 'signups_one_device',
    campaigns: 4,
    sessions: 50,
    against: ['full', 'login'],
    needsCollector: true,
    run(campaign) {
      const tool = campaign.freshBrowser();
      farm(campaign, { gapMs: 6 * MINUTE_MS, address: () => campaign.residential(), tool: () => tool });
    },
  },
  {
    kind: 'signups_over_days',
    campaigns: 3,
    sessions: 110,
    against: ['full', 'login', 'app'],
    run: (campaign) => farm(campaign, { gapMs: 60 * MINUTE_MS, address: () => campaign.residential(0.9) }),
  },
];
