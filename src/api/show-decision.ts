import type { Decision } from '../risk/decision.ts';
import type { RecordedContribution } from '../risk/record-contributions.ts';
import { networkText } from '../risk/decision-links.ts';
import { explain, familyOf } from '../risk/explain.ts';
import type { Bands } from '../risk/policy/policy.ts';
import { type CoarseLocation, readClass, type RecordClass } from '../risk/record-class.ts';
import { linksOf } from '../history/link-summary.ts';
import { reviewHint } from '../risk/fuse.ts';
import { readSignals } from '../risk/shown-signals.ts';
import { OWN_HINT } from '../risk/policy/own-rules.ts';
import type { Rule } from '../risk/rules/rule.ts';
import { RULES } from '../risk/rules/rule-table.ts';
import type { LoggedDecision } from '../history/decision-log/search.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields of the decide response, and the subject of the decision. Source: contract, 9.4. */
export function showDecision({ record, latencyMs }: LoggedDecision): Fields {
  const { contributions, classBytes } = record;
  const { agent, location } = classBytes === null ? UNCLASSED : readClass(classBytes);
  const hinting = contributions.map(({ code, weight }) => ({ rule: ruleOf(code), weight }));
  return {
    request_id: record.requestId,
    decision: record.decision,
    ...(record.wouldBe !== null && { would_be: record.wouldBe }),
    score: record.score,
    reasons: reasonsOf(contributions),
    review_hint: reviewHint(record.decision, hinting),
    session_mode: record.sessionMode,
    shadow_routed: record.shadow !== null,
    latency_ms: latencyMs,
    fingerprint_hash: record.fingerprintHash,
    ip: record.ip,
    country: record.country,
    event_type: record.eventType,
    occurred_at: Math.floor(record.occurredAtMs / 1000),
    contributions: [...contributions, ...record.observed].map(showContribution),
    path: record.path,
    network: record.ip === null ? null : networkText(record.ip),
    agent,
    location: location === null ? null : showLocation(location),
    links: linksOf(record),
  };
}

/** The policy of a decision's time. */
export interface AppliedPolicy {
  readonly version: string;
  /** The bands of the decision's event type. */
  readonly bands: Bands;
}

/** Returns the same with what the decision follows from. `policy` is null if it is not known any more. */
export function explainDecision(found: LoggedDecision, policy: AppliedPolicy | null): Fields {
  const { contributions, observed } = found.record;
  const explained = explain(found.record, policy?.bands ?? null);
  return {
    ...showDecision(found),
    contributions: [
      ...contributions.map((one, at) => ({
        ...showContribution(one),
        counts: explained.contributions[at]?.counts,
        without: explained.contributions[at]?.without,
      })),
      ...observed.map((one) => ({ ...showContribution(one), counts: false, without: null })),
    ],
    families: explained.families,
    overridden_by: explained.overriddenBy,
    policy_version: policy?.version ?? null,
    bands: policy === null ? null : showBands(policy.bands),
    signals: readSignals(found.record.features),
    outcome: found.record.outcome,
  };
}

export function showBands({
  allowWatch,
  softChallenge,
  review,
  block,
}: Bands): Readonly<Record<Exclude<Decision, 'ALLOW'>, number | null>> {
  return { ALLOW_WATCH: allowWatch, SOFT_CHALLENGE: softChallenge, REVIEW: review, BLOCK: block };
}

export function reasonsOf(contributions: readonly RecordedContribution[]): string[] {
  return contributions.map(({ code }) => code);
}

function showContribution({ code, weight, evidence, decides, isObserved }: RecordedContribution): Fields {
  return {
    reason: code,
    family: familyOf(code),
    weight,
    evidence,
    ...(decides !== undefined && { decision: decides }),
    ...(isObserved === true && { observed: true }),
  };
}

const UNCLASSED: RecordClass = { agent: null, location: null };

function showLocation({ latitude, longitude, accuracyKm }: CoarseLocation): Fields {
  return { latitude, longitude, accuracy_km: accuracyKm };
}

/** Without a session token no rule runs, but the response has this reason, in the form of a rule's reason. Source: contract, 4.3. */
const MISSING_TOKEN: Pick<Rule, 'code' | 'hint'> = {
  code: 'missing_session_token',
  hint: 'the request carries no session token',
};

const TEST_INPUT: Pick<Rule, 'code' | 'hint'> = { code: 'test_input', hint: 'a test input asked for this decision' };

const HINTS: ReadonlyMap<string, Pick<Rule, 'code' | 'hint'>> = new Map(
  [...RULES, MISSING_TOKEN, TEST_INPUT].map((rule) => [rule.code, rule]),
);

/** Returns the rule with that code, or a placeholder for a rule of another version of the service. */
function ruleOf(code: string): Pick<Rule, 'code' | 'hint'> {
  return (
    HINTS.get(code) ?? { code, hint: code.startsWith('own_') ? OWN_HINT : 'a rule that this version does not have' }
  );
}
