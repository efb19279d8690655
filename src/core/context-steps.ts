/** Events whose context is judged. Source: the default rules. */
const CONTEXT_STEPS: ReadonlySet<string> = new Set(['login', 'checkout', 'payment']);

export function isContextStep(eventType: string): boolean {
  return CONTEXT_STEPS.has(eventType);
}

/** Choice: customers name such events themselves: `change_email`, `email-update`, `shipping_address_changed`. */
const CHANGE = /chang|updat|edit|modif|set_|set-/;
const CHANGED = /e_?-?mail|address/;

/** Choice: types that are looked at once and kept; customers use a handful, and each text of a request must not be one more. */
const TYPES_KEPT = 256;
const asked = new Map<string, boolean>();

/** Whether an event of the type may teach contexts, or be judged by them. */
export function isContextAsked(eventType: string): boolean {
  const known = asked.get(eventType);
  if (known !== undefined) return known;
  const isAsked = isContextStep(eventType) || eventType === 'signup' || isValueStep(eventType);
  if (asked.size >= TYPES_KEPT) asked.clear();
  asked.set(eventType, isAsked);
  return isAsked;
}

/** Where somebody who took over an account gets something out of it: pays, or moves its mail or its parcels. */
export function isValueStep(eventType: string): boolean {
  if (eventType === 'checkout' || eventType === 'payment') return true;
  return CHANGE.test(eventType) && CHANGED.test(eventType);
}
