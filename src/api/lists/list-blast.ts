import type { DecisionReader } from '../../history/decision-reader.ts';
import { SubjectUsage, type SubjectUse } from '../../history/subject-usage.ts';
import { DECISION_SCAN_ROWS_MAX } from '../../kernel/history-limits.ts';
import { problem } from '../../contract/problem.ts';
import type { FingerprintReader } from '../../risk/fingerprint-history.ts';
import { codeOfListKind } from '../../risk/lists/list-key.ts';
import type { ListTarget } from '../../risk/lists/list-kind.ts';
import type { FingerprintHash } from '../../kernel/brand.ts';
import type { GivenEntry } from '../kit/body-readers.ts';
import type { AnyRequest, EndpointResponse } from '../kit/endpoint-types.ts';

/** How many sessions and people an entry would have concerned in the last 24 hours. Source: contract, 7.3. */
export interface BlastParts {
  readonly decisions: Pick<DecisionReader, 'scan'>;
  readonly fingerprints: FingerprintReader;
  /** The key of links (`RecordKeys`). */
  readonly linkSecret: Uint8Array;
  /** Whether a database knows the autonomous systems of addresses. */
  readonly hasAsnData: () => boolean;
}

const DAY_MS = 86_400_000;
/** Source: contract, 7.3. */
const BROAD_SHARE = 0.01;
const CONFIRM_SHARE = 0.25;
/** Choice: a share of fewer sessions says nothing; the first entries of a new customer must not be held up. */
const SESSIONS_MIN = 10;

/** The use of the entries of one request. */
export interface BlastRead {
  /** Null for a kind that decisions do not keep. `at`: position among the targets. */
  of(at: number): SubjectUse | null;
  /** Share of the day's sessions, 0 to 1; 0 for too few to say. */
  shareOf(at: number): number;
}

/** Null while too many searches are running. */
export async function readBlast(
  parts: BlastParts,
  { caller, nowMs, coverage }: AnyRequest,
  targets: readonly ListTarget[],
): Promise<BlastRead | null> {
  const usage = new SubjectUsage(caller.customer, parts.linkSecret, targets);
  const query = { sinceMs: nowMs - DAY_MS, untilMs: null, nowMs, rowsMax: DECISION_SCAN_ROWS_MAX, coverage };
  const scanned = await parts.decisions.scan(caller.customer, query, (record, bytes, _at, end) => {
    usage.add(record, bytes, end);
    return false;
  });
  if (scanned.kind === 'busy') return null;
  return {
    of: (at) => usage.of(at),
    shareOf(at) {
      const sessions = usage.of(at)?.sessions ?? 0;
      return sessions < SESSIONS_MIN ? 0 : sessions / usage.sessions;
    },
  };
}

/** Returns the 409 for an entry that must be confirmed; null for any other. */
export function unconfirmed({ action, isConfirmed }: GivenEntry, share: number): EndpointResponse | null {
  if (isConfirmed || action === 'watch' || share <= CONFIRM_SHARE) return null;
  const percent = Math.round(share * 100);
  const detail = `This entry would have concerned ${percent} % of the sessions of the last 24 hours. Send "confirm": true to write it.`;
  return { kind: 'problem', problem: problem('confirm_required', detail) };
}

/** Returns `usage` and `warning` of an answer to a write. `blast`: null if it was not counted. */
export function blastFields(
  parts: BlastParts,
  {
    target,
    fingerprintHash,
    at,
  }: { readonly target: ListTarget; readonly fingerprintHash: FingerprintHash; readonly at: number },
  blast: BlastRead | null,
  { caller, nowMs }: AnyRequest,
): Record<string, unknown> {
  const used = blast?.of(at) ?? null;
  const usage = used && { sessions_24h: used.sessions, identities_24h: used.identities, flagged_24h: used.flagged };
  const counted = blast === null ? {} : { usage };
  if (codeOfListKind(target.kind) === 0) {
    const { isCommon, networks24h } = parts.fingerprints.find(caller.customer, fingerprintHash, nowMs);
    if (isCommon) return { ...counted, warning: 'common_fingerprint', networks_24h: networks24h };
  }
  if (target.kind === 'asn' && !parts.hasAsnData()) return { ...counted, warning: 'no_asn_data' };
  return blast !== null && blast.shareOf(at) > BROAD_SHARE ? { ...counted, warning: 'broad_entry' } : counted;
}
