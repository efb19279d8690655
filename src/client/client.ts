import { randomUUID } from 'node:crypto';
import { callOnce } from './call.ts';
import { CallDeadline } from './deadline.ts';
import { signRequest } from './sign.ts';

export interface ClientOptions {
  /** For example `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly key: string;
  /** From the connection to the end of the response; default 10,000. */
  readonly timeoutMs?: number;
  /** The client's clock in Unix milliseconds; default: the system's clock. */
  readonly nowMs?: () => number;
}

export type DecideAnswer =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: Headers;
      /** Parsed if it is JSON, otherwise the text. For a 200, a `DecisionBody`, if the server is a Gatehouse. */
      readonly body: unknown;
    }
  /** No response: connection refused, aborted, or timed out. Whether the request was accepted is unknown. */
  | { readonly kind: 'unreachable'; readonly detail: string };

/** The body of a decision, status 200. */
export interface DecisionBody {
  readonly request_id: string;
  /** 64 hex digits, as used in list entries; absent without a session token. */
  readonly fingerprint_hash?: string;
  readonly decision: 'ALLOW' | 'ALLOW_WATCH' | 'SOFT_CHALLENGE' | 'REVIEW' | 'BLOCK';
  /** In observe mode, the decision without it; `decision` is then ALLOW. */
  readonly would_be?: DecisionBody['decision'];
  /** 0 to 100, one decimal. */
  readonly score: number;
  readonly reasons: readonly string[];
  readonly review_hint: string;
  readonly session_mode: 'full' | 'unverified' | 'degraded' | 'no_session';
  readonly shadow_routed: boolean;
  readonly latency_ms: number;
}

export interface OutcomeReport {
  readonly request_id: string;
  readonly outcome: 'succeeded' | 'failed' | 'declined' | 'challenge_passed' | 'challenge_failed';
}

export interface Client {
  /** Sends a decide request. An object is serialised once; bytes or text are signed and sent unchanged. */
  decide(body: object | string | Uint8Array): Promise<DecideAnswer>;
  /** Reports the outcomes of up to 1,000 decisions. Requires a secret key. */
  report(outcomes: readonly OutcomeReport[]): Promise<DecideAnswer>;
}

const DECIDE_PATH = '/v1/decide';
const OUTCOMES_PATH = '/v1/outcomes';

/** Creates a client that signs requests and sends them by `fetch`. It never retries: a request id is accepted only once. */
export function createClient({ url, key, timeoutMs = 10_000, nowMs = Date.now }: ClientOptions): Client {
  const { origin } = new URL(url);
  async function post(path: string, given: object | string | Uint8Array): Promise<DecideAnswer> {
    const body = given instanceof Uint8Array ? Uint8Array.from(given) : textOf(given);
    const timestampSeconds = Math.floor(nowMs() / 1000);
    const signed = signRequest({ key, method: 'POST', path, body, timestampSeconds, requestId: randomUUID() });
    const headers = { ...signed, 'content-type': 'application/json' };
    const deadline = new CallDeadline(timeoutMs);
    const result = await callOnce({ fetch, url: origin + path, method: 'POST', headers, body, deadline });
    deadline.end();
    return result.kind === 'answer' ? result : { kind: 'unreachable', detail: result.detail };
  }

  return {
    decide: (body) => post(DECIDE_PATH, body),
    report: (outcomes) => post(OUTCOMES_PATH, { outcomes }),
  };
}

function textOf(given: object | string): string {
  return typeof given === 'string' ? given : JSON.stringify(given);
}
