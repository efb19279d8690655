import type { Problem } from '../contract/problem.ts';
import type { Decision, SessionMode } from '../risk/decision.ts';
import type { Evaluated } from '../risk/evaluate.ts';
import type { Verdict } from '../risk/fuse.ts';

/** Text before the id, which is the only new value in every response. */
export const DECISION_HEAD = '{"request_id":"';
/** Text between the id and the fingerprint, if there is one. */
export const FINGERPRINT_LINK = '","fingerprint_hash":"';

/** Choice: most responses are one of a few dozen; a response whose slot holds another one is built again. */
const PLACES = 1_024;

type FiredBits = Pick<Evaluated, 'rulesLow' | 'rulesHigh' | 'rulesTop'>;

interface Tail {
  readonly rulesLow: number;
  readonly rulesHigh: number;
  readonly rulesTop: number;
  readonly decision: Decision;
  readonly wouldBe: Decision | null;
  readonly score: number;
  readonly mode: SessionMode;
  readonly shadowRouted: boolean;
  readonly reviewHint: string;
  readonly text: string;
}

/**
 * Caches the part of a decision's JSON that follows the id and the fingerprint and ends before the value of `latency_ms`; the main thread
 * adds that value and the closing brace. Equal responses are built once: the rules that fired determine the reasons.
 * Measured: 0.12 µs including the write, whatever fired; without the cache 0.10 µs without a reason, 0.56 µs with some, and 0.7 kB more
 * garbage per decision (bench/micro).
 */
export class DecisionTails {
  readonly #places: (Tail | undefined)[] = Array.from({ length: PLACES }, () => undefined);

  get(
    verdict: Verdict,
    fired: FiredBits,
    mode: SessionMode,
    shadowRouted: boolean,
    wouldBe: Decision | null = null,
  ): string {
    const { rulesLow, rulesHigh, rulesTop } = fired;
    const { decision, score, reviewHint } = verdict;
    const mixed =
      Math.imul(rulesLow ^ Math.imul(rulesHigh ^ Math.imul(rulesTop, 0x297a2d39), 0x9e3779b1), 0x85ebca6b) ^
      Math.imul(score * 10, 0x2c1b3c6d);
    const at = (mixed ^ (mixed >>> 15)) & (PLACES - 1);
    const kept = this.#places[at];
    if (
      kept !== undefined &&
      kept.rulesLow === rulesLow &&
      kept.rulesHigh === rulesHigh &&
      kept.rulesTop === rulesTop &&
      kept.score === score &&
      kept.decision === decision &&
      kept.wouldBe === wouldBe &&
      kept.mode === mode &&
      kept.shadowRouted === shadowRouted &&
      kept.reviewHint === reviewHint
    ) {
      return kept.text;
    }
    const text = decisionTail(verdict, mode, shadowRouted, wouldBe);
    this.#places[at] = {
      rulesLow,
      rulesHigh,
      rulesTop,
      decision,
      wouldBe,
      score,
      mode,
      shadowRouted,
      reviewHint,
      text,
    };
    return text;
  }
}

/** The result is ASCII: ids, codes and hints are our own words. Concatenates text, since no value except the hint needs escaping. */
export function decisionTail(
  verdict: Verdict,
  mode: SessionMode,
  shadowRouted: boolean,
  wouldBe: Decision | null = null,
): string {
  const { decision, score, reasons, reviewHint } = verdict;
  const list = reasons.length === 0 ? '[]' : `["${reasons.join('","')}"]`;
  const hint = reviewHint === '' ? '""' : JSON.stringify(reviewHint);
  const observed = wouldBe === null ? '' : `,"would_be":"${wouldBe}"`;
  return (
    `","decision":"${decision}"${observed},"score":${score},"reasons":${list},"review_hint":${hint},` +
    `"session_mode":"${mode}","shadow_routed":${shadowRouted ? 'true' : 'false'},"latency_ms":`
  );
}

/** Returns a problem as ASCII JSON: pointers may contain the client's own names. */
export function problemText(fault: Problem): string {
  return JSON.stringify(fault).replaceAll(
    /[\u007f-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
