import { HOUR_MS, MINUTE_MS } from '../calendar.ts';
import { drawAccount, drawCard, drawEmail } from '../identities.ts';
import type { Random } from '../random.ts';
import type { Visit } from '../visit.ts';
import type { AttackKind, Campaign } from './campaign.ts';

/** Stolen cards and gift cards: tests which of them are still valid, and buys with them. */

/** Share of a bought batch of cards that a bank still accepts. */
const LIVE = 0.12;

function tryCard(visit: Visit, email: string): void {
  visit.pay(drawCard(visit.random), visit.random.chance(LIVE) ? 'succeeded' : 'declined', email);
}

/** Goes to the checkout of a shop as a guest, or straight to the payment for customers that only send payments. */
function toTheTill(visit: Visit, email: string): void {
  if (visit.label.customer.integration === 'payment') return;
  if (visit.label.customer.integration === 'full') visit.page().wait(2_000).page('/basket').wait(1_500);
  visit.checkout(email).wait(2_500);
}

/** Draws a number in the shop's gift card format; few of them have a balance. */
function giftCardNumber(random: Random): string {
  return `GC${random.between(10 ** 9, 10 ** 10 - 1)}`;
}

const emailOf = (campaign: Campaign): string => drawEmail(campaign.country, campaign.random);

export const CARDS: readonly AttackKind[] = [
  {
    kind: 'cards_one_session',
    campaigns: 20,
    sessions: 3,
    against: ['full', 'payment', 'app'],
    run: (campaign) =>
      campaign.run(20 * MINUTE_MS, (atMs) => {
        const email = emailOf(campaign);
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential() }, (visit) => {
          toTheTill(visit, email);
          for (let n = visit.random.between(8, 30); n > 0; n--) {
            tryCard(visit, email);
            visit.think(9);
          }
        });
      }),
  },
  {
    kind: 'cards_one_address',
    campaigns: 6,
    sessions: 70,
    against: ['payment', 'full'],
    run(campaign) {
      const address = campaign.residential();
      campaign.run(12_000, (atMs) =>
        campaign.session(atMs, { ...campaign.script(), address }, (visit) => {
          const email = drawEmail(campaign.country, visit.random);
          toTheTill(visit, email);
          tryCard(visit, email);
        }),
      );
    },
  },
  {
    kind: 'cards_slow_one_address',
    campaigns: 5,
    sessions: 70,
    against: ['payment', 'full'],
    run(campaign) {
      const address = campaign.residential();
      campaign.run(18 * MINUTE_MS, (atMs) =>
        campaign.session(atMs, { ...campaign.script(), address }, (visit) => {
          const email = drawEmail(campaign.country, visit.random);
          toTheTill(visit, email);
          tryCard(visit, email);
        }),
      );
    },
  },
  {
    kind: 'cards_residential',
    campaigns: 5,
    sessions: 220,
    against: ['full', 'payment'],
    run: (campaign) =>
      campaign.run(15_000, (atMs) =>
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential() }, (visit) => {
          const email = drawEmail(campaign.country, visit.random);
          toTheTill(visit, email);
          tryCard(visit, email);
          if (visit.random.chance(0.4)) tryCard(visit.think(6), email);
        }),
      ),
  },
  {
    kind: 'cards_datacentre',
    campaigns: 4,
    sessions: 130,
    against: ['payment', 'full'],
    run: (campaign) =>
      campaign.run(12_000, (atMs) =>
        campaign.session(
          atMs,
          { ...campaign.script(), address: campaign.world.book.hosting(campaign.random) },
          (visit) => {
            const email = drawEmail(campaign.country, visit.random);
            toTheTill(visit, email);
            tryCard(visit, email);
          },
        ),
      ),
  },
  {
    kind: 'cards_app',
    campaigns: 4,
    sessions: 120,
    against: ['app'],
    run: (campaign) =>
      campaign.run(25_000, (atMs) =>
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential() }, (visit) => {
          const account = drawAccount(campaign.country, visit.random);
          visit.signup(account).wait(2_000).checkout().wait(1_500);
          tryCard(visit, account.email);
        }),
      ),
  },
  {
    kind: 'cards_one_account',
    campaigns: 8,
    sessions: 18,
    against: ['full', 'app'],
    run(campaign) {
      // Uses one account created for this purpose, with one session per card.
      const account = drawAccount(campaign.country, campaign.random);
      let createdMs: number | null = null;
      campaign.run(4 * MINUTE_MS, (atMs) => {
        createdMs ??= atMs - HOUR_MS;
        const start = { ...campaign.freshBrowser(), address: campaign.residential(), createdMs };
        campaign.session(atMs, start, (visit) => {
          visit.login(account).wait(3_000).checkout().wait(4_000);
          tryCard(visit, account.email);
        });
      });
    },
  },
  {
    kind: 'gift_cards_one_session',
    campaigns: 14,
    sessions: 3,
    against: ['full'],
    run: (campaign) =>
      campaign.run(15 * MINUTE_MS, (atMs) =>
        campaign.session(atMs, { ...campaign.script(), address: campaign.residential() }, (visit) => {
          visit.page('/giftcards').wait(1_000);
          for (let n = visit.random.between(30, 90); n > 0; n--)
            visit
              .giftCard(giftCardNumber(visit.random), visit.random.chance(0.01) ? 'succeeded' : 'failed')
              .wait(visit.random.between(1_200, 4_000));
        }),
      ),
  },
  {
    kind: 'gift_cards_residential',
    campaigns: 4,
    sessions: 200,
    against: ['full'],
    run: (campaign) =>
      campaign.run(15_000, (atMs) =>
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential() }, (visit) => {
          visit.page('/giftcards').wait(2_000);
          for (let n = visit.random.between(1, 3); n > 0; n--) visit.giftCard(giftCardNumber(visit.random)).think(4);
        }),
      ),
  },
  {
    kind: 'stolen_card_purchase',
    campaigns: 10,
    sessions: 25,
    against: ['full', 'app'],
    run: (campaign) =>
      campaign.scatter((atMs) =>
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential(0.8) }, (visit) => {
          // Manual purchases at human pace.
          const account = drawAccount(campaign.country, visit.random);
          visit.page().think(15).page().think(15).signup(account).think(20).checkout().think(60);
          visit.pay(drawCard(visit.random), visit.random.chance(0.6) ? 'succeeded' : 'declined');
        }),
      ),
  },
];
