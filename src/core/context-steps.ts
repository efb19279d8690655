import { askedOnce } from '../base/asked-once.ts';
import { isPayingStep, stepOf } from './outcome.ts';

/** Whether the event's context is judged. Source: the default rules. */
export function isContextStep(eventType: string): boolean {
  return stepOf(eventType) !== null;
}

/** Choice: customers name such events themselves: `change_email`, `email-update`, `shipping_address_changed`. */
const CHANGE = /chang|updat|edit|modif|set_|set-/;
const CHANGED = /e_?-?mail|address/;

/** Whether an event of the type may teach contexts, or be judged by them. */
export const isContextAsked = askedOnce(
  (eventType) => isContextStep(eventType) || eventType === 'signup' || isValueStep(eventType),
);

/** Where somebody who took over an account gets something out of it: pays, or moves its mail or its parcels. */
export function isValueStep(eventType: string): boolean {
  if (isPayingStep(eventType)) return true;
  return CHANGE.test(eventType) && CHANGED.test(eventType);
}
