import type { JsonObject, StartResult } from '../../base/connector.ts';
import { isoDate } from '../../read/dates.ts';

type Fault = Extract<StartResult, { readonly kind: 'fault' }>;

/** Returns the date of an input as ISO 8601, null if it was not given, or the fault. */
export function dateGiven(
  input: JsonObject,
  name: string,
): { readonly kind: 'date'; readonly iso: string | null } | Fault {
  const given = input[name];
  const iso = isoDate(given);
  if (given !== undefined && iso === null)
    return { kind: 'fault', pointer: `/${name}`, message: 'This must be a date.' };
  return { kind: 'date', iso };
}
