/** What became of the action that an event reports. The position of each is stored, so new ones go to the end. Source: contract, "Outcomes". */
export const OUTCOMES = ['succeeded', 'failed', 'declined', 'challenge_passed', 'challenge_failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The two kinds of action whose outcomes count; all others are taken in and change nothing. */
export type Step = 'login' | 'payment';

export function stepOf(eventType: string): Step | null {
  if (eventType === 'login') return 'login';
  return isPayingStep(eventType) ? 'payment' : null;
}

export function isPayingStep(eventType: string): boolean {
  return eventType === 'payment' || eventType === 'checkout';
}

/**
 * How an outcome counts: for a login `bad` is a login that failed, for a payment or checkout one that was declined.
 * Choice: a payment that merely failed is neither. A payment provider that is down fails everybody's, and nobody tried a stolen card.
 */
export function effectOf(step: Step, outcome: Outcome | null): 'good' | 'bad' | null {
  if (outcome === null) return null;
  if (outcome === 'succeeded' || outcome === 'challenge_passed') return 'good';
  return step === 'payment' && outcome === 'failed' ? null : 'bad';
}

const KNOWN: ReadonlySet<string> = new Set(OUTCOMES);

export function isOutcome(text: string): text is Outcome {
  return KNOWN.has(text);
}
