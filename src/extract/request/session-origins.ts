import type { JsonObject } from '../connector.ts';
import { addressesOf } from './input.ts';

/** Of the addresses that a job's input names, scheme, host and port: where its session may go without https, and on ports of their own. */
export function namedOrigins(input: Readonly<Record<string, unknown>>): readonly string[] {
  // It came as JSON, so it is made of nothing else.
  return addressesOf(input as JsonObject).map(({ url }) => new URL(url).origin);
}
