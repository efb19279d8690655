import type { TokenFacts } from '../../facts.ts';

/** Codes of the collector, by their cause. Traces with the same cause are one piece of evidence. */
const CAUSES: Readonly<Record<string, string>> = {
  nav_own: 'navigator',
  wd_patched: 'navigator',
  worker_ua: 'navigator',
  selenium: 'tool',
  no_frame: 'window',
  soft_gl: 'graphics',
  no_lang: 'language',
  synthetic: 'input',
};

/** Names that only a driver leaves. */
const DRIVERS: ReadonlySet<string> = new Set(['cdc', 'pw']);

/** Codes that also occur in honest browsers by thousands, alone. */
const FREQUENT: ReadonlySet<string> = new Set(['no_frame', 'soft_gl', 'no_lang', 'synthetic']);

/** Apps put functions of their own into their web views, which have neither a frame nor always a language. */
const IN_WEB_VIEWS: ReadonlySet<string> = new Set([...DRIVERS, 'selenium', 'soft_gl']);

export interface AutomationTraces {
  /** `driver`: a driver's own names; `several`: at least two causes; `one`: one cause; `frequent`: one that honest browsers have too. */
  readonly strength: 'driver' | 'several' | 'one' | 'frequent';
  /** The known codes, in the collector's order, and the rhythm of the keys. */
  readonly codes: readonly string[];
}

/** Returns the traces of automation in a collector token; null without any. `webdriver` has a rule of its own. */
export function automationTraces(token: TokenFacts): AutomationTraces | null {
  if (token.kind !== 'collector') return null;
  const { automation, webView } = token.signals;
  if (automation === null || automation.length === 0) return null;
  const known = [...new Set(automation)].filter(
    (code) => (DRIVERS.has(code) || Object.hasOwn(CAUSES, code)) && (webView === null || IN_WEB_VIEWS.has(code)),
  );
  if (known.length === 0) return null;
  if (known.some((code) => DRIVERS.has(code))) return { strength: 'driver', codes: known };
  const causes = new Set(known.map((code) => CAUSES[code]));
  // Keys in the rhythm of a program are a rule of their own, and here the second cause beside another one.
  const isScripted = scriptedRhythm(token, SCRIPTED) !== null;
  if (isScripted) causes.add('input');
  const codes = isScripted ? [...known, 'key rhythm'] : known;
  if (causes.size > 1) return { strength: 'several', codes };
  return { strength: known.every((code) => FREQUENT.has(code)) ? 'frequent' : 'one', codes };
}

interface RhythmThresholds {
  readonly gaps: number;
  readonly meanMsMax: number;
  readonly evenGaps: number;
  readonly evenPercentMax: number;
}

const SCRIPTED: RhythmThresholds = { gaps: 10, meanMsMax: 35, evenGaps: 20, evenPercentMax: 5 };

/** Describes a rhythm that people do not have; null for any other. */
export function scriptedRhythm(token: TokenFacts, thresholds: RhythmThresholds): string | null {
  const rhythm = token.kind === 'collector' ? token.signals.keyRhythm : null;
  if (rhythm === null || rhythm.gaps < thresholds.gaps) return null;
  const { gaps, meanMs, deviationMs } = rhythm;
  if (meanMs < thresholds.meanMsMax) return `${gaps} gaps of ${Math.round(meanMs)} ms on average`;
  const isEven = gaps >= thresholds.evenGaps && deviationMs * 100 < thresholds.evenPercentMax * meanMs;
  return isEven ? `${gaps} gaps of ${Math.round(meanMs)} ms, almost equal` : null;
}
