import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { signRequest } from './sign.ts';

export interface ClientOptions {
  /** For example `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly key: string;
  /** Maximum number of open connections; default 4. */
  readonly connections?: number;
  /** Time-out of each wait: for the connection, the headers, the next piece of the body; default 10,000. */
  readonly timeoutMs?: number;
  /** The client's clock in Unix milliseconds; default: the system's clock. */
  readonly nowMs?: () => number;
}

export type DecideAnswer =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: Readonly<Record<string, string | string[] | undefined>>;
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
  close(): Promise<void>;
}

/** Choice: a response has some 2 KB; a longer one is not from the service. */
const ANSWER_BYTES_MAX = 1_048_576;
const DECIDE_PATH = '/v1/decide';
const OUTCOMES_PATH = '/v1/outcomes';

/** Creates a client with persistent connections. It never retries: a request id is accepted only once. */
export function createClient(options: ClientOptions): Client {
  const timeoutMs = options.timeoutMs ?? 10_000;
  const nowMs = options.nowMs ?? Date.now;
  const pool = new Pool(new URL(options.url).origin, {
    connections: options.connections ?? 4,
    connectTimeout: timeoutMs,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    // A server's hint must not keep idle sockets open for longer than this.
    keepAliveMaxTimeout: 30_000,
    maxResponseSize: ANSWER_BYTES_MAX,
  });
  async function post(path: string, body: object | string | Uint8Array): Promise<DecideAnswer> {
    const sent = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    const signed = signRequest({
      key: options.key,
      method: 'POST',
      path,
      body: sent,
      timestampSeconds: Math.floor(nowMs() / 1000),
      requestId: randomUUID(),
    });
    try {
      const response = await pool.request({
        method: 'POST',
        path,
        headers: { ...signed, 'content-type': 'application/json' },
        body: sent,
      });
      const text = await response.body.text();
      return { kind: 'answer', status: response.statusCode, headers: response.headers, body: parsed(text) };
    } catch (error) {
      return { kind: 'unreachable', detail: error instanceof Error ? error.message : String(error) };
    }
  }

  return {
    decide: (body) => post(DECIDE_PATH, body),
    report: (outcomes) => post(OUTCOMES_PATH, { outcomes }),
    close: () => pool.close(),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
