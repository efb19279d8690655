import { MINUTE_MS } from '../calendar.ts';
import type { Visit } from '../visit.ts';
import type { AttackKind } from './campaign.ts';

/** Programs that read prices and stock. */

function read(visit: Visit, pages: number, gapMs: () => number): void {
  for (let n = pages; n > 0; n--) {
    if (visit.random.chance(0.2)) visit.search();
    else visit.page();
    visit.wait(gapMs());
  }
}

export const SCRAPING: readonly AttackKind[] = [
  {
    kind: 'scraping_library',
    campaigns: 15,
    sessions: 6,
    against: ['full'],
    run: (campaign) =>
      campaign.run(40 * MINUTE_MS, (atMs) =>
        campaign.session(
          atMs,
          { ...campaign.library(), address: campaign.world.book.hosting(campaign.random) },
          (visit) => read(visit, 60, () => visit.random.between(200, 900)),
        ),
      ),
  },
  {
    kind: 'scraping_crawler',
    campaigns: 12,
    sessions: 6,
    against: ['full'],
    run: (campaign) =>
      campaign.run(60 * MINUTE_MS, (atMs) => {
        const agent = campaign.random.pick([
          'Mozilla/5.0 (compatible; PriceSpider/2.1; +http://pricespider.example/bot)',
          'Scrapy/2.12.0 (+https://scrapy.org)',
          'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)',
        ]);
        const { device } = campaign.script();
        campaign.session(
          atMs,
          {
            device: { ...device, agent, language: '' },
            withoutCollector: true,
            address: campaign.world.book.hosting(campaign.random),
          },
          (visit) => read(visit, 40, () => visit.random.between(800, 4_000)),
        );
      }),
  },
  {
    kind: 'scraping_headless',
    campaigns: 15,
    sessions: 8,
    against: ['full'],
    run: (campaign) =>
      campaign.run(30 * MINUTE_MS, (atMs) =>
        campaign.session(atMs, { ...campaign.headless(), address: campaign.residential(0.3) }, (visit) =>
          read(visit, visit.random.between(15, 60), () => visit.random.between(900, 5_000)),
        ),
      ),
  },
  {
    kind: 'scraping_150_a_minute',
    campaigns: 12,
    sessions: 3,
    against: ['full'],
    run(campaign) {
      const address = campaign.residential();
      campaign.run(2 * MINUTE_MS, (atMs) =>
        campaign.session(atMs, { ...campaign.script(), address }, (visit) =>
          read(visit, 300, () => visit.random.between(250, 550)),
        ),
      );
    },
  },
  {
    kind: 'scraping_one_address_new_sessions',
    campaigns: 4,
    sessions: 150,
    against: ['full'],
    run(campaign) {
      // 150 pages per minute, with a new session for every second page.
      const address = campaign.residential();
      campaign.run(800, (atMs) =>
        campaign.session(atMs, { ...campaign.script(), address }, (visit) => read(visit, 2, () => 350)),
      );
    },
  },
  {
    kind: 'scraping_steady_beat',
    campaigns: 12,
    sessions: 5,
    against: ['full'],
    run: (campaign) =>
      campaign.run(20 * MINUTE_MS, (atMs) =>
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential() }, (visit) =>
          read(visit, 120, () => 3_000),
        ),
      ),
  },
  {
    kind: 'scraping_long_sessions',
    campaigns: 12,
    sessions: 5,
    against: ['full'],
    run: (campaign) =>
      campaign.run(60 * MINUTE_MS, (atMs) =>
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential() }, (visit) =>
          // The pace of a hasty reader, for an hour.
          read(visit, 420, () => Math.max(1_500, visit.random.logNormal(7_000, 0.6))),
        ),
      ),
  },
  {
    kind: 'scraping_short_residential',
    campaigns: 5,
    sessions: 220,
    against: ['full'],
    run: (campaign) =>
      campaign.run(6_000, (atMs) =>
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential() }, (visit) =>
          read(visit, visit.random.between(3, 9), () => visit.random.logNormal(3_500, 0.5)),
        ),
      ),
  },
];
