import type { Exchange } from '../http/exchange.ts';
import { problem, type Problem } from '../contract/problem.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { isTestCustomer } from '../kernel/test-customers.ts';
import { REQUEST_ASKED_SHIFT } from '../frames/batch-buffer.ts';
import { type Decision, DECISIONS } from '../risk/decision.ts';
import { parseDecideRequest } from '../risk/decide-request.ts';

/** Inputs with which a request of a test key asks for its response. Source: contract, 3.11. */
export type TestInput = Decision | 'slow' | 'down';

const DOMAIN = '@gatehouse.test';
const BY_LOCAL_PART: ReadonlyMap<string, TestInput> = new Map([
  ['block', 'BLOCK'],
  ['review', 'REVIEW'],
  ['challenge', 'SOFT_CHALLENGE'],
  ['slow', 'slow'],
  ['down', 'down'],
  ['watch', 'ALLOW_WATCH'],
  ['allow', 'ALLOW'],
]);
/** Addresses for documentation, which nobody has. Source: RFC 5737. */
const BY_ADDRESS: ReadonlyMap<string, TestInput> = new Map(
  [...BY_LOCAL_PART.values()].map((input, at) => [`192.0.2.${at + 1}`, input]),
);
/** Source: contract, 3.11: more than twice what clients wait by default. */
const SLOW_MS = 2_000;

/**
 * Returns what a request asks for; null for live keys and for other requests. An e-mail counts before the address. Parses the body on the
 * main thread, which the allowance of test keys bounds.
 */
export function readTestInput(customer: CustomerNumber, body: Uint8Array): TestInput | null {
  if (!isTestCustomer(customer)) return null;
  const parsed = parseDecideRequest(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
  if (parsed.kind === 'fault') return null;
  const { entities, ip } = parsed.request;
  for (const { value } of entities) {
    const email = value.trim().toLowerCase();
    const input = email.endsWith(DOMAIN) ? BY_LOCAL_PART.get(email.slice(0, -DOMAIN.length)) : undefined;
    if (input !== undefined) return input;
  }
  return BY_ADDRESS.get(ip?.trim() ?? '') ?? null;
}

/** Returns the flag of a request for the decision that it asks for; 0 for none. */
export function askedFlag(input: TestInput | null): number {
  return (DECISIONS.indexOf(input as Decision) + 1) << REQUEST_ASKED_SHIFT;
}

export function testOutage(): Problem {
  return problem('test_outage', 'A test input asked for this response.', { retryAfterSeconds: 1 });
}

/** Returns the exchange of a request; for a slow one, one that sends its response `SLOW_MS` later. It occupies no worker meanwhile. */
export function exchangeFor(input: TestInput | null, exchange: Exchange): Exchange {
  if (input !== 'slow') return exchange;
  return {
    get aborted() {
      return exchange.aborted;
    },
    remoteAddress: () => exchange.remoteAddress(),
    peerAddress: () => exchange.peerAddress(),
    readBody: (...how) => exchange.readBody(...how),
    pauseUntil: (next) => exchange.pauseUntil(next),
    addFields: (lines) => exchange.addFields(lines),
    send: (...response) => void setTimeout(() => exchange.send(...response), SLOW_MS),
    sendStream: (...response) => exchange.sendStream(...response),
  };
}
