import { BoundedCache } from '../../src/kernel/bounded-cache.ts';
import { readAgent } from '../../src/risk/signals/agent.ts';
import type { AgentFacts } from '../../src/risk/facts.ts';
import { fresh } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

const PER_SAMPLE = 256;
/** Same size as the gatherer's cache. */
const KEPT = 4_096;

const BROWSERS = [
  (n: number) =>
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.${n}.0 Safari/537.36`,
  (n: number) =>
    `Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E${n} Safari/604.1`,
  (n: number) =>
    `Mozilla/5.0 (Linux; Android 14; SM-S${n}B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/29.0 Chrome/136.0.0.0 Mobile Safari/537.36`,
  (n: number) => `Mozilla/5.0 (X11; Linux x86_64; rv:150.${n}) Gecko/20100101 Firefox/150.0`,
];

function browser(n: number): string {
  return BROWSERS[n % BROWSERS.length]?.(n) ?? '';
}

function bot(n: number): string {
  return `Mozilla/5.0 (compatible; Googlebot/2.${n}; +http://www.google.com/bot.html)`;
}

export const agent: Stage = {
  name: 'agent',
  add(tasks) {
    let texts = Ring.of(PER_SAMPLE, browser);
    const unseen = [
      ['uncached browser', browser, (facts: AgentFacts) => facts.bot === null && facts.browser !== 'other'],
      ['uncached bot', bot, (facts: AgentFacts) => facts.bot === 'Googlebot'],
    ] as const;
    for (const [name, make, isSane] of unseen) {
      let serial = 0;
      tasks.add(name, {
        perSample: PER_SAMPLE,
        prepare() {
          texts = Ring.of(PER_SAMPLE, () => fresh(make(serial++)));
        },
        run: (n) => readAgent(texts.at(n)),
        isSane,
      });
    }
    const kept = new BoundedCache<string, AgentFacts>(KEPT);
    for (let n = 0; n < PER_SAMPLE; n++) kept.set(browser(n), readAgent(browser(n)));
    tasks.add('kept', {
      perSample: PER_SAMPLE,
      prepare() {
        texts = Ring.of(PER_SAMPLE, (n) => fresh(browser(n)));
      },
      run: (n) => kept.get(texts.at(n)),
      isSane: (facts) => facts !== undefined && facts.browser !== 'other',
    });
    return {};
  },
};
