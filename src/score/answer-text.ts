import type { Problem } from '../base/problem.ts';
import type { SessionMode } from '../core/decision.ts';
import type { Verdict } from '../core/fuse.ts';

/**
 * The decision's JSON up to and without the value of `latency_ms`, which the main thread adds with the closing brace.
 * ASCII: ids, codes and hints are our own words. Written by hand, since every value but the hint needs no escaping.
 * Measured: 0.22 µs against 0.70 µs by JSON.stringify (bench/micro).
 */
export function decisionText(requestId: string, verdict: Verdict, mode: SessionMode, shadowRouted: boolean): string {
  const { decision, score, reasons, reviewHint } = verdict;
  const list = reasons.length === 0 ? '[]' : `["${reasons.join('","')}"]`;
  const hint = reviewHint === '' ? '""' : JSON.stringify(reviewHint);
  return (
    `{"request_id":"${requestId}","decision":"${decision}","score":${score},"reasons":${list},"review_hint":${hint},` +
    `"session_mode":"${mode}","shadow_routed":${shadowRouted ? 'true' : 'false'},"latency_ms":`
  );
}

/** A problem as ASCII JSON: pointers may hold the client's own names. */
export function problemText(fault: Problem): string {
  return JSON.stringify(fault).replaceAll(
    /[\u007f-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
