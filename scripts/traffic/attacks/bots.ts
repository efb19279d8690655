import { MINUTE_MS } from '../calendar.ts';
import { ticketSale } from '../honest/occasions.ts';
import { drawAccount, drawCard } from '../identities.ts';
import type { AttackKind } from './campaign.ts';

/** Bots that buy, hoard or probe for vulnerabilities. */

const PROBES = [
  '/.env',
  '/.git/config',
  '/wp-login.php',
  '/phpmyadmin/index.php',
  "/search?q=1'%20OR%20'1'='1",
  '/download?file=../../../etc/passwd',
];

export const BOTS: readonly AttackKind[] = [
  {
    kind: 'hoarding',
    campaigns: 4,
    sessions: 160,
    against: ['full'],
    run: (campaign) =>
      // Fills baskets to exhaust the stock and never pays.
      campaign.run(20_000, (atMs) =>
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential() }, (visit) => {
          visit
            .page('/p/1')
            .think(6)
            .page('/basket')
            .think(5)
            .checkout(`${visit.random.hex(6)}@gmail.com`);
        }),
      ),
  },
  {
    kind: 'ticket_bots',
    campaigns: 4,
    sessions: 110,
    against: ['full'],
    run(campaign) {
      const { startMs } = ticketSale(campaign.world);
      for (let n = 0; n < campaign.sessions; n++) {
        const atMs = startMs + campaign.random.below(4 * MINUTE_MS);
        const account = drawAccount(campaign.country, campaign.random);
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential(0.7) }, (visit) =>
          visit.login(account).wait(500).page('/tickets').wait(600).checkout().wait(800).pay(drawCard(visit.random)),
        );
      }
    },
  },
  {
    kind: 'headless_checkout',
    campaigns: 8,
    sessions: 15,
    against: ['full'],
    run: (campaign) =>
      campaign.run(5 * MINUTE_MS, (atMs) =>
        campaign.session(atMs, { ...campaign.headless(), address: campaign.residential() }, (visit) => {
          const email = drawAccount(campaign.country, visit.random).email;
          visit.page('/p/7').wait(400).checkout(email).wait(700).pay(drawCard(visit.random), 'succeeded', email);
        }),
      ),
  },
  {
    kind: 'probing_for_holes',
    campaigns: 20,
    sessions: 3,
    against: ['full'],
    run: (campaign) =>
      campaign.run(10 * MINUTE_MS, (atMs) =>
        campaign.session(
          atMs,
          { ...campaign.script(), address: campaign.world.book.hosting(campaign.random) },
          (visit) => {
            for (const path of PROBES) visit.page(path).wait(visit.random.between(100, 900));
          },
        ),
      ),
  },
  {
    kind: 'coupon_guessing',
    campaigns: 15,
    sessions: 3,
    against: ['full'],
    run: (campaign) =>
      campaign.run(25 * MINUTE_MS, (atMs) =>
        campaign.session(atMs, { ...campaign.script(), address: campaign.residential() }, (visit) => {
          const email = drawAccount(campaign.country, visit.random).email;
          visit.page('/basket').wait(1_000);
          for (let n = visit.random.between(25, 70); n > 0; n--)
            visit
              .checkout(email, `/checkout?coupon=${visit.random.hex(6).toUpperCase()}`)
              .wait(visit.random.between(900, 3_000));
        }),
      ),
  },
];
