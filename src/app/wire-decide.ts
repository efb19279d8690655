import { RULES } from '../risk/rules/rule-table.ts';
import type { DecideObserver } from '../decide/observer.ts';
import { createDecidePipeline, type DecidePipeline } from '../decide/pipeline.ts';
import { RepeatedRequests } from '../decide/repeated-requests.ts';
import { Simulator } from '../decide/simulator.ts';
import { visitorSource } from '../decide/visitor-source.ts';
import { WARM_UP_IDS, warmUp, type WarmUpResult } from '../decide/warm-up.ts';
import { LocalAdmission } from '../local/local-admission.ts';
import { ReplayGuard } from '../local/replay-guard.ts';
import { DecisionRecorder } from '../observe/decision-recorder.ts';
import { createUnreadLog } from '../observe/log.ts';
import { DecisionCounts } from '../observe/decision-counts.ts';
import { recordingStats } from './stats-recorder.ts';
import type { SharedParts } from './wire-endpoints.ts';
import type { Deciding, ServiceParts } from './service-parts.ts';

/** The role `decide`: the pipeline of decide requests and what it counts. */
export interface DecideRole {
  readonly decide: DecidePipeline;
  readonly recorder: Pick<DecisionRecorder, 'storeFailedAtMs'>;
  readonly simulator: Simulator;
  /** For decisions of every thread. */
  readonly observer: DecideObserver;
  /** Compiles the decide path with synthetic requests. */
  warmUp(): Promise<WarmUpResult>;
}

export function wireDecide(
  parts: ServiceParts,
  { pool, policyFile }: Deciding,
  { counts, failures }: SharedParts,
): DecideRole {
  const { settings, clock, keyCache, admission, journal, decisionSink, dispatcher, installation, listener, log } =
    parts;
  const recorder = new DecisionRecorder(counts, log);
  const simulator = new Simulator(pool);
  const writes = new Map<number, number>();
  installation.store.changes.onCommitted(({ change }) => {
    if (!/^(?:list|named_list|rule)\./.test(change.kind) || !('customer' in change)) return;
    const customer = Number(change.customer);
    writes.set(customer, (writes.get(customer) ?? 0) + 1);
  });
  const inputs = (customer: number): string => `${writes.get(customer) ?? 0} ${policyFile.status().version}`;
  const observer = recordingStats(recorder, parts, () => clock.nowMs());
  const decide = createDecidePipeline({
    repeats: {
      requests: new RepeatedRequests(() => performance.now(), inputs),
      simulate: (customer, body, nowMs) => simulator.run(customer, body, nowMs),
      nowMs: () => clock.nowMs(),
    },
    clock,
    keyCache,
    admission,
    failures,
    visitorSource: visitorSource(listener.trustedProxies),
    journal,
    pool,
    decisionSink,
    due: dispatcher,
    requestSink: parts.requests.requestLog,
    observer,
  });
  return {
    decide,
    recorder,
    simulator,
    observer,
    warmUp() {
      const unread = new DecisionRecorder(new DecisionCounts(RULES.length), createUnreadLog(settings.logLevel));
      const ids = new ReplayGuard(WARM_UP_IDS, Buffer.alloc(16));
      const unjournalled = new LocalAdmission(ids, { stage: () => {} });
      return warmUp({
        clock,
        pool,
        admission: unjournalled,
        observer: unread,
        listen: (onRequest) => listener.openBeside(onRequest),
      });
    },
  };
}
