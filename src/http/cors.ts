import type { Exchange, Handler, RequestHead } from './exchange.ts';
import { problem, type Problem } from '../contract/problem.ts';
import { bodyTooLarge, JSON_FIELDS, sendProblem } from './reply.ts';
import { PREFLIGHT_KEEP_SECONDS } from '../kernel/limits.ts';

/** Decides which pages may read responses. Both return a value of Access-Control-Allow-Origin, or null. */
export interface OriginPolicy {
  /** For a response: whether the presented key allows the origin. */
  allowOrigin(keyText: string, origin: string): string | null;
  /** For a preflight, which carries no key: whether the public key of any customer allows the origin. */
  allowOriginOfAny(origin: string): string | null;
}

/** Request headers that a script sets itself. A browser sends all others on its own account. */
const ALLOWED_HEADERS = 'Content-Type, X-SVC-Key, X-SVC-Ts, X-SVC-Rid, X-SVC-Sig';
/** Response headers that a script may read, beyond those that every script may. */
const EXPOSED_HEADERS = 'Retry-After, X-SVC-Rl-Limit, X-SVC-Rl-Remaining, X-SVC-Rl-Reset, RateLimit-Policy, RateLimit';

const NOT_ALLOWED: Problem = problem('origin_not_allowed', 'No public key allows scripts of this origin.');

/** CORS of the endpoints that web pages may call. Never allows credentials: a key in a header is the only identification. */
export class Cors {
  readonly #policy: OriginPolicy;
  readonly #onRefused: (code: string) => void;

  constructor(policy: OriginPolicy, onRefused: (code: string) => void) {
    this.#policy = policy;
    this.#onRefused = onRefused;
  }

  /**
   * Adds to the response, whichever it will be, what a script of the page needs to read it. Adds nothing if the key does not allow the
   * origin: the request is processed as any other, because only browsers send a true Origin, and the browser keeps the response from the
   * script.
   */
  readonly onCrossOrigin = (head: RequestHead, exchange: Exchange): void => {
    // A preflight has fields of its own, whatever key it names.
    if (head.method === 'OPTIONS') return;
    const allowed = this.#policy.allowOrigin(head.svcKey, head.cold.get('origin'));
    if (allowed === null) return;
    exchange.addFields(`${originLines(allowed)}\r\nAccess-Control-Expose-Headers: ${EXPOSED_HEADERS}`);
  };

  /** Returns the handler of OPTIONS on a path that scripts may call with these methods. */
  preflight(methods: readonly string[]): Handler {
    const allow = [...methods, 'OPTIONS'].join(', ');
    const permit =
      `\r\nAccess-Control-Allow-Methods: ${methods.join(', ')}\r\nAccess-Control-Allow-Headers: ${ALLOWED_HEADERS}` +
      `\r\nAccess-Control-Max-Age: ${PREFLIGHT_KEEP_SECONDS}`;
    return (head, exchange) => {
      const origin = head.cold.get('origin');
      if (head.contentLength > 0) this.#refuse(exchange, bodyTooLarge(0));
      else if (origin === '' || head.cold.get('access-control-request-method') === '') {
        exchange.send(204, `${JSON_FIELDS}\r\nAllow: ${allow}`, '');
      } else {
        const allowed = this.#policy.allowOriginOfAny(origin);
        if (allowed === null) this.#refuse(exchange, NOT_ALLOWED);
        else exchange.send(204, `${JSON_FIELDS}${originLines(allowed)}${permit}`, '');
      }
    };
  }

  #refuse(exchange: Exchange, fault: Problem): void {
    this.#onRefused(fault.code);
    // A body that nobody reads would precede the next request.
    sendProblem(exchange, fault, { close: fault.code === 'body_too_large' });
  }
}

function originLines(allowed: string): string {
  return `\r\nAccess-Control-Allow-Origin: ${allowed}\r\nVary: Origin`;
}
