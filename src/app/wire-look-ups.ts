import { crawlerLookUp } from '../data/crawler-look-up.ts';
import { hasFreshRanges } from '../data/feed-report.ts';
import { LookUps } from '../data/look-ups.ts';
import { dnsQueries } from '../egress/dns-queries.ts';
import type { Clock } from '../kernel/clock.ts';
import { type AnswerMemory, createAnswerMemory, SharedAnswers } from '../kernel/shared-answers.ts';
import type { Reading } from '../observe/reading.ts';
import { NAME_QUESTION } from '../risk/signals/agent-operators.ts';
import type { Settings } from './settings.ts';

/** What is looked up beside the decisions of a node. */
export interface OpenLookUps {
  /** For every thread that scores. */
  readonly memory: AnswerMemory;
  readonly readings: readonly Reading[];
  close(): void;
}

/** Starts the look-ups; null while they are off: then nothing leaves the machine for them. */
export function openLookUps({ dataDir, lookUps }: Settings, clock: Clock): OpenLookUps | null {
  if (lookUps === null) return null;
  const memory = createAnswerMemory();
  const dns = dnsQueries(lookUps.server);
  const running = new LookUps({
    answers: new SharedAnswers(memory),
    kinds: { [NAME_QUESTION]: crawlerLookUp(dns, (operator) => hasFreshRanges(dataDir, operator, Date.now())) },
    nowSeconds: () => Math.floor(clock.nowMs() / 1000),
  });
  running.start();
  return {
    memory,
    close: () => running.close(),
    readings: [
      {
        name: 'gatehouse_look_ups_total',
        help: 'Look-ups that decisions asked for, by kind and result; dropped: beyond the budget.',
        kind: 'labelled',
        labels: ['kind', 'result'],
        read: () => running.counts(),
      },
    ],
  };
}
