import { unreachable } from '../../base/brand.ts';
import type { FailureReason } from '../../core/extraction.ts';
import type { EgressError } from '../../egress/faults.ts';
import { SourceFailure } from '../connector.ts';

/**
 * What went wrong with one attempt, and so what is done about it: how often it is tried again here, and whether the job may succeed
 * when it is tried later.
 */
interface FaultPolicy {
  readonly reason: FailureReason;
  /** Further attempts of the same fetch. */
  readonly retries: number;
  /** Of the job. */
  readonly retryable: boolean;
}

/** Choice: at most so many further attempts of one fetch, whatever the faults are. */
export const RETRIES_MAX = 3;

const POLICIES = {
  /** No answer, or half of one: networks and restarts pass, so it is tried again with growing waits. */
  network: { reason: 'source_unavailable', retries: RETRIES_MAX, retryable: true },
  /** 5xx, 408 and 425: the source's own trouble; the same. */
  server_error: { reason: 'source_unavailable', retries: RETRIES_MAX, retryable: true },
  /** 429: it is tried again when the source says, up to a bound; for longer the job waits, and asks again later. */
  rate_limited: { reason: 'rate_limited_by_source', retries: RETRIES_MAX, retryable: true },
  /** Choice: each attempt took its whole time already, so one more is all. */
  timeout: { reason: 'timeout', retries: 1, retryable: true },
  /** A certificate does not become right by asking again. */
  tls: { reason: 'source_unavailable', retries: 0, retryable: false },
  /** An address that may not be reached: never tried again, and the customer is not told which. */
  blocked: { reason: 'access_denied', retries: 0, retryable: false },
  /** More bytes than any page has, on the wire or unpacked. */
  too_large: { reason: 'unsupported_content', retries: 0, retryable: false },
  /** Not what was asked for: pictures for pages, pages for JSON, broken compression. */
  content: { reason: 'unsupported_content', retries: 0, retryable: false },
  /** JSON that is none. */
  parse: { reason: 'parse_failed', retries: 0, retryable: false },
  /** robots.txt refuses the URL. */
  robots: { reason: 'robots_disallowed', retries: 0, retryable: false },
  /** robots.txt itself is a server error, which stands for a refusal of everything for the time being. */
  robots_unavailable: { reason: 'robots_disallowed', retries: 0, retryable: true },
  /** 404 and 410. */
  not_found: { reason: 'source_not_found', retries: 0, retryable: false },
  /** 402, 403 and 451. */
  denied: { reason: 'access_denied', retries: 0, retryable: false },
  /** 401 or a way to a login page, without a session. */
  login: { reason: 'login_required', retries: 0, retryable: false },
  /** The same with one. */
  session: { reason: 'session_expired', retries: 0, retryable: false },
  /** Redirects that go round, are too many or lead nowhere, and other 4xx: asking again changes nothing. */
  refused: { reason: 'source_unavailable', retries: 0, retryable: false },
  /** The service itself stops; the step is taken again after its start. */
  shutdown: { reason: 'source_unavailable', retries: 0, retryable: true },
  /** A header that cannot be sent: ours or the session's. */
  unsendable: { reason: 'internal_error', retries: 0, retryable: false },
} as const satisfies Record<string, FaultPolicy>;

export type Fault = keyof typeof POLICIES;

export function retriesOf(fault: Fault): number {
  return POLICIES[fault].retries;
}

/** A failure that still says what the fault was. */
export class FetchFailure extends SourceFailure {
  readonly fault: Fault;

  constructor(fault: Fault, detail: string, waitMs: number | null = null) {
    const { reason, retryable } = POLICIES[fault];
    super(reason, detail.slice(0, DETAIL_CHARACTERS_MAX), retryable, waitMs);
    this.fault = fault;
  }
}

/** Choice: a URL and a sentence. */
const DETAIL_CHARACTERS_MAX = 1_000;

export function networkFault(error: EgressError): Fault {
  switch (error) {
    case 'dns_error':
    case 'connection_refused':
    case 'connection_reset':
      return 'network';
    case 'connect_timeout':
    case 'timeout':
      return 'timeout';
    case 'tls_error':
      return 'tls';
    case 'blocked_address':
      return 'blocked';
    case 'response_too_large':
      return 'too_large';
    case 'shutdown':
      return 'shutdown';
    default:
      return unreachable(error);
  }
}

/** Of a status that is no success and no redirect. */
export function statusFault(status: number, hasSession: boolean): Fault {
  if (status === 429) return 'rate_limited';
  if (status >= 500 || status === 408 || status === 425) return 'server_error';
  if (status === 401) return hasSession ? 'session' : 'login';
  if (status === 402 || status === 403 || status === 451) return 'denied';
  return status === 404 || status === 410 ? 'not_found' : 'refused';
}
