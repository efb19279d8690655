import { type Outcome, OUTCOMES } from '../contract/vocabulary.ts';

export { type Outcome, OUTCOMES };

/** The two kinds of action whose outcomes count; outcomes of all others are accepted and change nothing. */
export type OutcomeStep = 'login' | 'payment';

export function stepOf(eventType: string): OutcomeStep | null {
  if (eventType === 'login') return 'login';
  return isPayingStep(eventType) ? 'payment' : null;
}

export function isPayingStep(eventType: string): boolean {
  return eventType === 'payment' || eventType === 'checkout';
}

/**
 * Returns how an outcome counts: `bad` is a failed login, or a declined payment or checkout, or a failed challenge.
 * Choice: a payment that merely failed is neither good nor bad. If a payment provider is down, everybody's payments fail, and nobody tried
 * a stolen card.
 */
export function effectOf(step: OutcomeStep, outcome: Outcome | null): 'good' | 'bad' | null {
  if (outcome === null) return null;
  if (outcome === 'succeeded' || outcome === 'challenge_passed') return 'good';
  return step === 'payment' && outcome === 'failed' ? null : 'bad';
}

/**
 * How much the service learns about a person from an event with this outcome: nothing, what any event teaches, or all of its context at
 * once. The order of the numbers matters.
 * Choice: a declined payment teaches like any other, because owners' cards are declined too.
 */
export const TEACHES_NOTHING = 0;
export const TEACHES = 1;
export const TEACHES_AT_ONCE = 2;
export type Teaching = typeof TEACHES_NOTHING | typeof TEACHES | typeof TEACHES_AT_ONCE;

export function teachingOf(step: OutcomeStep | null, outcome: Outcome | null): Teaching {
  if (outcome === 'challenge_passed') return TEACHES_AT_ONCE;
  return step === 'login' && effectOf(step, outcome) === 'bad' ? TEACHES_NOTHING : TEACHES;
}

const KNOWN: ReadonlySet<string> = new Set(OUTCOMES);

export function isOutcome(text: string): text is Outcome {
  return KNOWN.has(text);
}
