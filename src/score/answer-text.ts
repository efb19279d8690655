import type { Problem } from '../base/problem.ts';
import type { SessionMode } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import type { Contribution, Verdict } from '../core/fuse.ts';

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

/** What the log's line holds beside the answer. No token, no identity and no header of the client's. */
export interface DecisionDetail {
  readonly request_id: string;
  readonly reasons: readonly string[];
  readonly session_mode: SessionMode;
  readonly event_type?: string;
  readonly ip?: string;
  readonly country?: string | null;
  readonly asn?: number | null;
  readonly weights?: Readonly<Record<string, number>>;
}

const EVENT_TYPE_CHARACTERS_MAX = 64;

export function decisionDetail(
  requestId: string,
  facts: Facts | null,
  verdict: Verdict,
  contributions: readonly Contribution[],
  mode: SessionMode,
): string {
  const common = { request_id: requestId, reasons: verdict.reasons, session_mode: mode };
  if (facts === null) return JSON.stringify(common satisfies DecisionDetail);
  const detail: DecisionDetail = {
    ...common,
    event_type: facts.eventType.slice(0, EVENT_TYPE_CHARACTERS_MAX),
    ...(facts.ip?.kind === 'valid' && { ip: facts.ip.text }),
    country: facts.geo?.country ?? null,
    asn: facts.geo?.asn ?? null,
    weights: Object.fromEntries(contributions.map((c) => [c.rule.code, c.weight])),
  };
  return JSON.stringify(detail);
}

/** A problem as ASCII JSON: pointers may hold the client's own names. */
export function problemText(fault: Problem): string {
  return JSON.stringify(fault).replaceAll(
    /[\u007f-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
