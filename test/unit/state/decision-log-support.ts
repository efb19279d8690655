import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { newId } from '../../../src/kernel/ids.ts';
import { encodeRecord, type LinkTail } from '../../../src/risk/decision-record.ts';
import type { Decision } from '../../../src/risk/decision.ts';
import type { Facts } from '../../../src/risk/facts.ts';
import type { DecisionLog } from '../../../src/history/decision-log.ts';
import type { SearchOutcome, SearchQuery } from '../../../src/history/decision-log/log-query.ts';
import type { LoggedDecision, SearchPage } from '../../../src/history/decision-log/search.ts';

export interface RowParts {
  readonly occurredAtMs: number;
  readonly requestId?: string;
  readonly decision?: Decision;
  readonly fingerprint?: string | null;
  readonly ip?: string | null;
  readonly country?: string | null;
  readonly reasons?: readonly string[];
  readonly eventType?: string;
  readonly score?: number;
  readonly url?: string;
  /** Links of the decision; its record is one of the present build in any case. */
  readonly links?: LinkTail;
}

/** Returns the bytes that a score worker writes, and the id in them. */
export function recordOf(parts: RowParts): { readonly requestId: string; readonly bytes: Buffer } {
  const requestId = parts.requestId ?? newId('req', parts.occurredAtMs);
  const { decision = 'ALLOW', fingerprint = 'a'.repeat(64), ip = '203.0.113.7', country = 'DE', reasons = [] } = parts;
  const facts = {
    fingerprintHash: fingerprint,
    token: { kind: 'opaque', isBroken: false },
    ip: ip === null ? null : { kind: 'valid', text: ip },
    geo: country === null ? null : { country, asn: 64_500, latitude: null, longitude: null },
    agent: null,
    url: parts.url ?? null,
  } as unknown as Facts;
  const bytes = encodeRecord({
    requestId,
    occurredAtMs: parts.occurredAtMs,
    verdict: { decision, score: parts.score ?? 12.3, reasons: [...reasons], reviewHint: '' },
    sessionMode: fingerprint === null ? 'no_session' : 'unverified',
    shadow: null,
    publicKey: false,
    eventType: parts.eventType ?? 'login',
    links: parts.links ?? null,
    facts: fingerprint === null ? null : facts,
    contributions: reasons.map((code) => ({ rule: { code }, weight: 0.3, evidence: `evidence of ${code}` })),
  });
  return { requestId, bytes };
}

/** Logs one decision and returns its id. */
export function decide(log: DecisionLog, customer: CustomerNumber, parts: RowParts, latencyMs = 2): string {
  const { requestId, bytes } = recordOf(parts);
  log.append(customer, bytes, latencyMs);
  return requestId;
}

export type Asked = Partial<SearchQuery> & { readonly nowMs: number };

export function query(asked: Asked): SearchQuery {
  return { decision: null, text: null, after: null, limit: 100, ...asked };
}

export function pageOf(outcome: SearchOutcome): SearchPage {
  if (outcome.kind === 'busy') throw new Error('the search was refused');
  return outcome;
}

/** Returns the ids of all pages in their order. */
export async function idsOf(log: DecisionLog, customer: CustomerNumber, asked: Asked): Promise<string[]> {
  const ids: string[] = [];
  let after = asked.after ?? null;
  do {
    const page = pageOf(await log.search(customer, query({ ...asked, after })));
    ids.push(...page.rows.map(idOf));
    after = page.next;
  } while (after !== null);
  return ids;
}

export function idOf({ record }: LoggedDecision): string {
  return record.requestId;
}
