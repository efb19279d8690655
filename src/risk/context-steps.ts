import { askedOnce } from '../kernel/asked-once.ts';
import { isPayingStep, stepOf } from './event-outcome.ts';

/** Returns whether the event's context is rated. Source: the default rules. */
export function isContextStep(eventType: string): boolean {
  return stepOf(eventType) !== null;
}

/** Choice: customers name such events themselves: `change_email`, `email-update`, `shipping_address_changed`. */
const CHANGE = /chang|updat|edit|modif|set_|set-/;
const CHANGED = /e_?-?mail|address/;

/** Returns whether events of this type are compared with the known contexts, or may add to them. */
export const isContextAsked = askedOnce(
  (eventType) => isContextStep(eventType) || eventType === 'signup' || isValueStep(eventType),
);

/** Returns whether somebody who took over an account gains by the event: pays, or redirects its mail or its parcels. */
export function isValueStep(eventType: string): boolean {
  if (isPayingStep(eventType)) return true;
  return CHANGE.test(eventType) && CHANGED.test(eventType);
}
