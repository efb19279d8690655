import { unreachable } from '../../kernel/brand.ts';
import type { FailureReason } from '../../work/extraction-job.ts';
import type { EgressError } from '../../egress/faults.ts';
import { SourceFailure } from '../base/connector.ts';

/** How to react to a failed attempt: how often it is retried here, and whether the job may succeed later. */
interface FaultPolicy {
  readonly reason: FailureReason;
  /** Further attempts of the same fetch. */
  readonly retries: number;
  /** Whether the job may be retried. */
  readonly retryable: boolean;
}

/** Choice: maximum number of further attempts of one fetch, whatever the faults are. */
export const RETRIES_MAX = 3;

const POLICIES = {
  /** No response, or an incomplete one. Network problems and restarts are temporary, so it is retried with growing waits. */
  network: { reason: 'source_unavailable', retries: RETRIES_MAX, retryable: true },
  /** 5xx, 408 and 425: a problem of the source itself; handled in the same way. */
  server_error: { reason: 'source_unavailable', retries: RETRIES_MAX, retryable: true },
  /** 429: retried when the source says, up to a limit. For a longer wait, the job waits and tries again later. */
  rate_limited: { reason: 'rate_limited_by_source', retries: RETRIES_MAX, retryable: true },
  /** Choice: each attempt already took its full time, so there is only one more. */
  timeout: { reason: 'timeout', retries: 1, retryable: true },
  /** A failed TLS handshake, for example because of the certificate: a retry does not help. */
  tls: { reason: 'source_unavailable', retries: 0, retryable: false },
  /** A blocked address: never retried, and the customer is not told which address it was. */
  blocked: { reason: 'access_denied', retries: 0, retryable: false },
  /** More bytes than any page has, on the wire or decompressed. */
  too_large: { reason: 'unsupported_content', retries: 0, retryable: false },
  /** Not what was requested: images for pages, pages for JSON, broken compression. */
  content: { reason: 'unsupported_content', retries: 0, retryable: false },
  /** Something else than an HTTP response: asking again changes nothing. */
  not_http: { reason: 'unsupported_content', retries: 0, retryable: false },
  /** Invalid JSON. */
  parse: { reason: 'parse_failed', retries: 0, retryable: false },
  /** robots.txt disallows the URL. */
  robots: { reason: 'robots_disallowed', retries: 0, retryable: false },
  /** robots.txt itself is a server error, which temporarily disallows everything. */
  robots_unavailable: { reason: 'robots_disallowed', retries: 0, retryable: true },
  /** 404 and 410. */
  not_found: { reason: 'source_not_found', retries: 0, retryable: false },
  /** 402, 403 and 451. */
  denied: { reason: 'access_denied', retries: 0, retryable: false },
  /** 401 or a redirect to a login page, without a session. */
  login: { reason: 'login_required', retries: 0, retryable: false },
  /** 401 or a redirect to a login page, with a session. */
  session: { reason: 'session_expired', retries: 0, retryable: false },
  /** Redirects that form a loop, are too many or have no valid target, and other 4xx: asking again changes nothing. */
  refused: { reason: 'source_unavailable', retries: 0, retryable: false },
  /** The service is stopping; the step runs again after the next start. */
  shutdown: { reason: 'source_unavailable', retries: 0, retryable: true },
  /** A header that cannot be sent: ours or the session's. */
  unsendable: { reason: 'internal_error', retries: 0, retryable: false },
} as const satisfies Record<string, FaultPolicy>;

export type Fault = keyof typeof POLICIES;

export function retriesOf(fault: Fault): number {
  return POLICIES[fault].retries;
}

/** A failure that keeps its fault. */
export class FetchFailure extends SourceFailure {
  readonly fault: Fault;

  constructor(fault: Fault, detail: string, waitMs: number | null = null) {
    const { reason, retryable } = POLICIES[fault];
    super(reason, detail.slice(0, DETAIL_CHARACTERS_MAX), retryable, waitMs);
    this.fault = fault;
  }
}

/** Choice: enough for a URL and a sentence. */
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
    case 'bad_response':
      return 'not_http';
    case 'shutdown':
      return 'shutdown';
    default:
      return unreachable(error);
  }
}

/** Returns the fault for a status that is neither success nor redirect. */
export function statusFault(status: number, hasSession: boolean): Fault {
  if (status === 429) return 'rate_limited';
  if (status >= 500 || status === 408 || status === 425) return 'server_error';
  if (status === 401) return hasSession ? 'session' : 'login';
  if (status === 402 || status === 403 || status === 451) return 'denied';
  return status === 404 || status === 410 ? 'not_found' : 'refused';
}
