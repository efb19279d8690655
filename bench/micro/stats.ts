import type { DecisionStats } from '../../src/history/stats/decision-stats.ts';
import { openDecisionStats } from '../../src/history/open-decision-log.ts';
import { DECISIONS } from '../../src/risk/decision.ts';
import { RULES } from '../../src/risk/rules/rule-table.ts';
import { openStore } from '../../src/state/open-store.ts';
import { Slices, Turns } from '../../src/state/turns.ts';
import { CUSTOMER, makeFolder, NOW_SECONDS, removeFolder } from './fixtures.ts';
import { Spent } from './spent.ts';
import type { Stage } from './stage.ts';

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
/** Ends within an hour, so that the last one is not summed yet. */
const END_SECONDS = NOW_SECONDS - (NOW_SECONDS % HOUR_SECONDS) + HOUR_SECONDS / 2;
const EVENT_TYPES = ['login', 'signup', 'checkout', 'password_reset', 'page_view', 'comment', 'transfer', 'export'];

/** Reads of `GET /v1/stats`, without the text of the response, of a customer that had decisions in every minute. */
export const stats: Stage = {
  name: 'stats',
  samplesMin: 100,
  async add(tasks, { smoke }) {
    const folder = makeFolder();
    const outcome = openStore({ dataDir: folder, readOnly: false });
    if (outcome.kind === 'fault') throw new Error(outcome.detail);
    const { store } = outcome;
    const all = openDecisionStats(store);
    const days = smoke ? 1 : 30;
    await fill(all, days);
    const notes: (() => string)[] = [];
    const cases = [
      ['by the hour', HOUR_SECONDS, days],
      ['by the day', DAY_SECONDS, days],
      ['by the minute', 60, 1],
    ] as const;
    for (const [name, step, daysRead] of cases) {
      const spent = new Spent();
      tasks.addAsync(`read ${daysRead} days ${name}`, {
        perSample: 1,
        run: () =>
          spent.measure(() =>
            all.read(CUSTOMER, END_SECONDS - daysRead * DAY_SECONDS, END_SECONDS, step, new Slices(new Turns())),
          ),
        isSane: (points) => points.length >= (daysRead * DAY_SECONDS) / step,
      });
      notes.push(() => `stats, ${daysRead} days ${name}, ms: ${spent.toString()}`);
    }
    return {
      notes: () => notes.map((note) => note()),
      async close() {
        await store.close();
        removeFolder(folder);
      },
    };
  },
};

/** Counts decisions, in each minute of the last day, before that once an hour, and sums the hours as the server does. */
async function fill(all: DecisionStats, days: number): Promise<void> {
  for (let at = END_SECONDS - days * DAY_SECONDS; at < END_SECONDS; at += 60) {
    const isHour = at % HOUR_SECONDS === 0;
    if (!isHour && at < END_SECONDS - DAY_SECONDS) continue;
    const counts = all.countsOf(CUSTOMER, at * 1_000);
    if (counts === null) throw new Error('the statistics must have room for one customer');
    for (let n = 0; n < 40; n++) {
      const seed = Math.imul(at + n, 2_654_435_761) >>> 0;
      counts.decided(seed % DECISIONS.length, seed % 101, 0.5 + (seed % 64) / 16, EVENT_TYPES[seed % 8] ?? '');
      counts.reason(RULES[seed % 32]?.code ?? '');
      if (n < 3) counts.refused(['rate_limited', 'invalid_signature', 'duplicate_request'][seed % 3] ?? '');
    }
    if (isHour) await all.tend(at * 1_000);
  }
  await all.close();
}
