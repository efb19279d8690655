import { HOUR_MS, MINUTE_MS } from '../calendar.ts';
import type { AttackKind } from './campaign.ts';

/** Guessed passwords and codes: few passwords on many accounts, or many on one account. */
export const GUESSING: readonly AttackKind[] = [
  {
    kind: 'spraying_residential',
    campaigns: 4,
    sessions: 240,
    against: ['full', 'login', 'app'],
    run(campaign) {
      // The accounts are known to exist; the password is a common one.
      campaign.run(20_000, (atMs) => {
        const account = campaign.member();
        const outcome = campaign.random.chance(0.006) ? 'succeeded' : 'failed';
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential() }, (visit) =>
          visit.login(account, outcome),
        );
      });
    },
  },
  {
    kind: 'spraying_slow',
    campaigns: 4,
    sessions: 120,
    against: ['full', 'login'],
    run(campaign) {
      const addresses = [campaign.residential(), campaign.residential(), campaign.residential()];
      campaign.run(12 * MINUTE_MS, (atMs, n) => {
        const account = campaign.member();
        campaign.session(atMs, { ...campaign.script(), address: addresses[n % 3] ?? '' }, (visit) =>
          visit.page('/login').wait(3_000).login(account, 'failed'),
        );
      });
    },
  },
  {
    kind: 'brute_force_one_address',
    campaigns: 10,
    sessions: 60,
    against: ['full', 'login', 'app'],
    run(campaign) {
      const account = campaign.member();
      const address = campaign.residential();
      const isApp = campaign.customer.integration === 'app';
      campaign.run(7_000, (atMs) =>
        campaign.session(atMs, { ...(isApp ? campaign.freshBrowser() : campaign.script()), address }, (visit) =>
          visit.login(account, 'failed'),
        ),
      );
    },
  },
  {
    kind: 'brute_force_many_addresses',
    campaigns: 10,
    sessions: 60,
    against: ['full', 'login', 'app'],
    run(campaign) {
      const account = campaign.member();
      campaign.run(15_000, (atMs) =>
        campaign.session(atMs, { ...campaign.freshBrowser(), address: campaign.residential() }, (visit) =>
          visit.login(account, 'failed'),
        ),
      );
    },
  },
  {
    kind: 'brute_force_one_session',
    campaigns: 30,
    sessions: 1,
    against: ['full', 'login'],
    run(campaign) {
      const account = campaign.member();
      campaign.scatter((atMs) =>
        campaign.session(atMs, { ...campaign.script(), address: campaign.residential() }, (visit) => {
          for (let n = visit.random.between(25, 90); n > 0; n--) visit.login(account, 'failed').think(4);
        }),
      );
    },
  },
  {
    kind: 'brute_force_slow',
    campaigns: 5,
    sessions: 80,
    against: ['full', 'login'],
    run(campaign) {
      const account = campaign.member();
      const address = campaign.residential();
      campaign.run(0.5 * HOUR_MS, (atMs) =>
        campaign.session(atMs, { ...campaign.script(), address }, (visit) => visit.login(account, 'failed')),
      );
    },
  },
  {
    kind: 'prompts_until_yes',
    campaigns: 40,
    sessions: 14,
    against: ['login', 'app', 'full'],
    run(campaign) {
      // The password is correct; the owner's phone shows prompts until the owner confirms one out of fatigue.
      const account = campaign.member();
      const tool = campaign.freshBrowser();
      const address = campaign.residential(0.6);
      campaign.run(50_000, (atMs, n) =>
        campaign.session(atMs, { ...tool, address }, (visit) => {
          const isLast = n === campaign.sessions - 1;
          visit.login(account, isLast ? 'succeeded' : 'failed');
          if (isLast) visit.think(10).profileChange();
        }),
      );
    },
  },
  {
    kind: 'reset_code_guessing',
    campaigns: 40,
    sessions: 1,
    against: ['full', 'login'],
    run(campaign) {
      const account = campaign.member();
      campaign.scatter((atMs) =>
        campaign.session(atMs, { ...campaign.script(), address: campaign.residential() }, (visit) => {
          for (let n = visit.random.between(15, 60); n > 0; n--)
            visit.passwordReset(account, 'failed').wait(visit.random.between(1_500, 4_000));
        }),
      );
    },
  },
  {
    kind: 'account_enumeration',
    campaigns: 4,
    sessions: 120,
    against: ['full', 'login'],
    run(campaign) {
      // The response of the reset form reveals who has an account.
      campaign.run(10_000, (atMs) => {
        const { account } = campaign.listEntry();
        campaign.session(atMs, { ...campaign.script(), address: campaign.residential() }, (visit) =>
          visit.page('/password/reset').wait(1_200).passwordReset(account, 'failed'),
        );
      });
    },
  },
];
