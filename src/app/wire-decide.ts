import { RULES } from '../risk/rules/rule-table.ts';
import { createDecidePipeline, type DecidePipeline } from '../decide/pipeline.ts';
import { LocalRateWindows } from '../decide/rate-windows.ts';
import { visitorSource } from '../decide/visitor-source.ts';
import { warmUp, type WarmUpResult } from '../decide/warm-up.ts';
import { DecisionRecorder } from '../observe/decision-recorder.ts';
import { createUnreadLog } from '../observe/log.ts';
import { DecisionCounts } from '../observe/metrics.ts';
import { recordingStats } from './stats-recorder.ts';
import type { ServiceParts } from './service-parts.ts';

/** The role `decide`: the pipeline of decide requests and what it counts. */
export interface DecideRole {
  readonly decide: DecidePipeline;
  readonly rates: LocalRateWindows;
  readonly counts: DecisionCounts;
  readonly recorder: DecisionRecorder;
  /** Compiles the decide path with synthetic requests. */
  warmUp(): Promise<WarmUpResult>;
}

export function wireDecide(parts: ServiceParts): DecideRole {
  const { settings, clock, keyCache, replay, journal, pool, decisionSink, dispatcher, listener, log } = parts;
  const counts = new DecisionCounts(RULES.length);
  const recorder = new DecisionRecorder(counts, log);
  const rates = new LocalRateWindows();
  const decide = createDecidePipeline({
    clock,
    keyCache,
    rates,
    visitorSource: visitorSource(listener.trustedProxies),
    replay,
    journal,
    pool,
    decisionSink,
    due: dispatcher,
    observer: recordingStats(recorder, parts.stats, () => clock.nowMs()),
  });
  return {
    decide,
    rates,
    counts,
    recorder,
    warmUp() {
      const unread = new DecisionRecorder(new DecisionCounts(RULES.length), createUnreadLog(settings.logLevel));
      return warmUp({ clock, pool, observer: unread, listen: (onRequest) => listener.openBeside(onRequest) });
    },
  };
}
