import { completeOptions, type StartOptions } from './collector-options.ts';
import { type CollectorRun, newToken, startRun } from './collector-run.ts';
import { forgetIds } from './kept-ids.ts';
import { readProperty } from './page-proof.ts';
import { postSigned } from './request-signature.ts';

/** The interface for pages. In the classic form it is the global `gatehouse`. */
export interface CollectorApi {
  /** Starts reading signals. Returns false, and changes nothing, if a collector already runs on this page. */
  readonly start: (options?: StartOptions) => boolean;
  /** Returns a new token, at most 450 ms after `start`; `''` before `start` and after `stop`. Never rejects. */
  readonly token: () => Promise<string>;
  /**
   * Asks the server for a decision, signed with the public key. Fills in `session_token`, `url`, `referrer` and `user_agent` if absent.
   * For analytics only: the visitor can change what a page sends and what it receives, so the backend decides.
   *
   * @throws {CollectorError} without a public key or a secure context, if the server does not answer, or if it refuses.
   */
  readonly decide: (body: Readonly<Record<string, unknown>>) => Promise<Record<string, unknown>>;
  /** Stops everything; `start` may follow. With `forget`, for withdrawn consent, the stored ids are deleted too. */
  readonly stop: (options?: { readonly forget?: boolean }) => void;
}

export class CollectorError extends Error {
  /** `not_started`, `no_public_key`, `insecure_context`, `unreachable`, or the code of the server's problem. */
  readonly code: string;
  /** HTTP status; 0 without a response. */
  readonly status: number;

  constructor(code: string, status = 0) {
    super(`gatehouse: ${code}`);
    this.name = 'CollectorError';
    this.code = code;
    this.status = status;
  }
}

const DECIDE_TIMEOUT_MS = 5_000;
/** Marks the page across copies of this script, of which there may be several. */
const RUNS = Symbol.for('gatehouse.collector');

/** `servedFrom` is the origin of the script; null in the module form, where the page's own origin is meant. */
export function createGatehouse(servedFrom: string | null): CollectorApi {
  let run: CollectorRun | null = null;
  return {
    start(options = {}) {
      if (RUNS in document) return false;
      Object.defineProperty(document, RUNS, { value: true, configurable: true });
      run = startRun(completeOptions(options, servedFrom));
      return true;
    },
    token: async () => (run === null ? '' : newToken(run)),
    async decide(body) {
      if (run === null) throw new CollectorError('not_started');
      return requestDecision(run, body);
    },
    stop({ forget = false } = {}) {
      if (run !== null) {
        run.controller.abort();
        run = null;
        delete (document as { [RUNS]?: true })[RUNS];
      }
      if (forget) forgetIds();
    },
  };
}

async function requestDecision(
  run: CollectorRun,
  body: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const { publicKey, server } = run.settings;
  if (publicKey === null) throw new CollectorError('no_public_key');
  if (crypto.subtle === undefined) throw new CollectorError('insecure_context');
  const referrer = readProperty(Document, 'referrer', document);
  const filled = {
    session_token: body['session_token'] ?? (await newToken(run)),
    // Queries hold what people searched for, and sometimes secrets.
    url: location.origin + location.pathname,
    ...(referrer === '' ? {} : { referrer }),
    user_agent: navigator.userAgent,
    ...body,
  };
  let status = 0;
  let answer: unknown = null;
  try {
    const response = await postSigned({ publicKey, server }, '/v1/decide', filled, DECIDE_TIMEOUT_MS);
    ({ status } = response);
    answer = await response.json();
  } catch {
    throw new CollectorError('unreachable', status);
  }
  const fields = (typeof answer === 'object' && answer !== null ? answer : {}) as Record<string, unknown>;
  if (status !== 200) throw new CollectorError(typeof fields['code'] === 'string' ? fields['code'] : 'refused', status);
  return fields;
}
