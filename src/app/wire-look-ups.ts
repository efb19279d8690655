import { crawlerLookUp } from '../data/crawler-look-up.ts';
import { hasFreshRanges } from '../data/feed-report.ts';
import { keyLookUp } from '../data/key-look-up.ts';
import { LookUps } from '../data/look-ups.ts';
import { mailLookUp } from '../data/mail-look-up.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';
import { dnsQueries } from '../egress/dns-queries.ts';
import { EXTRACT_USER_AGENT } from '../kernel/limits.ts';
import type { Clock } from '../kernel/clock.ts';
import { createLookUpMemory, type LookUpMemory } from '../kernel/look-up-memory.ts';
import { SharedAnswers } from '../kernel/shared-answers.ts';
import { SharedText } from '../kernel/shared-text.ts';
import type { Reading } from '../observe/reading.ts';
import { KEYS_QUESTION, NAME_QUESTION } from '../risk/signals/agent-operators.ts';
import { MAIL_QUESTION } from '../risk/signals/mail-question.ts';
import type { Settings } from './settings.ts';

/** What is looked up beside the decisions of a node. */
export interface OpenLookUps {
  /** For every thread that scores. */
  readonly memory: LookUpMemory;
  /** How many questions of each kind had each result. */
  counts(): ReturnType<LookUps['counts']>;
  close(): void;
}

/** Starts the look-ups; null while they are off: then nothing leaves the machine for them. */
export function openLookUps({ dataDir, egressAllow, lookUps }: Settings, clock: Clock): OpenLookUps | null {
  if (lookUps === null) return null;
  const memory = createLookUpMemory();
  const nowSeconds = (): number => Math.floor(clock.nowMs() / 1000);
  const client = lateClient(egressAllow);
  const dns = dnsQueries(lookUps.server);
  const running = new LookUps({
    answers: new SharedAnswers(memory.answers),
    kinds: {
      [NAME_QUESTION]: crawlerLookUp(dns, (operator) => hasFreshRanges(dataDir, operator, Date.now())),
      [MAIL_QUESTION]: mailLookUp(dns),
      [KEYS_QUESTION]: keyLookUp(client, new SharedText(memory.keys), EXTRACT_USER_AGENT, nowSeconds),
    },
    nowSeconds,
  });
  running.start();
  return {
    memory,
    close() {
      running.close();
      client.close();
    },
    counts: () => running.counts(),
  };
}

/** The metric of the look-ups, without counts while they are off. */
export function lookUpReadings(lookUps: OpenLookUps | null): readonly Reading[] {
  return [
    {
      name: 'gatehouse_look_ups_total',
      help: 'Look-ups that decisions asked for, by kind and result; dropped: beyond the budget.',
      kind: 'labelled',
      labels: ['kind', 'result'],
      read: () => lookUps?.counts() ?? [],
    },
  ];
}

/** A client that is loaded with its first request: it is a tenth of the program, and few servers meet an agent that signs. */
function lateClient(allow: readonly string[]): Pick<GuardedClient, 'close' | 'request'> {
  let loading: Promise<GuardedClient> | null = null;
  return {
    async request(request) {
      loading ??= import('../egress/guarded-client.ts').then(({ createGuardedClient }) =>
        createGuardedClient({ allow }),
      );
      return (await loading).request(request);
    },
    close: () => void loading?.then((client) => client.close()),
  };
}
