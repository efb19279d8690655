import type { JsonObject } from '../base/connector.ts';
import { addressesOf } from './job-input.ts';

/**
 * Returns the origins (scheme, host and port) named by a job's input. To these, its session may also be sent without https and on
 * non-standard ports.
 */
export function namedOrigins(input: Readonly<Record<string, unknown>>): readonly string[] {
  // The body was JSON, so it contains only JSON values.
  return [...new Set(addressesOf(input as JsonObject).map(({ url }) => new URL(url).origin))];
}
