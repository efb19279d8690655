import { compareWithWorker } from './automation-codes.ts';
import { completeOptions, type CollectorSettings, type StartOptions } from './collector-options.ts';
import { readMakeup, type DeviceMakeup } from './device-makeup.ts';
import { helpForms } from './form-helper.ts';
import { holdGrant } from './grant-holder.ts';
import { followInput } from './input-cadence.ts';
import { forgetIds, keepIds } from './kept-ids.ts';
import { followPage } from './page-life.ts';
import { attempt, readProperty } from './page-proof.ts';
import { postSigned } from './request-signature.ts';
import { writeToken, type TokenParts } from './token-writer.ts';

/** What pages call. In the classic form it is the global `gatehouse`. */
export interface Gatehouse {
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

interface Run extends TokenParts {
  makeup: DeviceMakeup | null;
  readonly codes: string[];
  readonly settings: CollectorSettings;
  readonly controller: AbortController;
  /** The device was read, or is not to be read. */
  isRead: boolean;
  readonly whenRead: Promise<void>;
}

/** Choice: later than any device was read in the tests; a token that is asked for earlier waits for at most this time. */
const TOKEN_WAIT_MS_MAX = 450;
const DECIDE_TIMEOUT_MS = 5_000;
/** Marks the page across copies of this script, of which there may be several. */
const RUNS = Symbol.for('gatehouse.collector');

/** `servedFrom` is the origin of the script; null in the module form, where the page's own origin is meant. */
export function createGatehouse(servedFrom: string | null): Gatehouse {
  let run: Run | null = null;

  const begin = (settings: CollectorSettings): Run => {
    const controller = new AbortController();
    const { signal } = controller;
    const grants = holdGrant(settings);
    const ids = keepIds(settings);
    // A grant is asked for when somebody uses the page, not for every page that is looked at.
    const cadence = followInput(signal, () => void grants.renew());
    const life = { onReturn: () => (ids.renewPage(), cadence.reset()), onRoute: () => cadence.reset() };
    const hiddenMs = attempt(() => followPage(life, signal)) ?? (() => 0);
    const codes: string[] = [];
    const started: Run = {
      settings,
      controller,
      grants,
      ids,
      cadence,
      hiddenMs,
      codes,
      makeup: null,
      isRead: settings.mode === 'minimal',
      whenRead: settings.mode === 'minimal' ? Promise.resolve() : read(),
    };
    if (settings.worker) void compareWithWorker().then((code) => code !== null && codes.push(code));
    async function read(): Promise<void> {
      try {
        // In two steps: the left side of an assignment is evaluated before the wait.
        const makeup = await readMakeup();
        started.makeup = makeup;
      } catch {
        // A token without a fingerprint is better than none.
      }
      started.isRead = true;
    }
    helpForms(
      {
        get ready() {
          return started.isRead && (settings.publicKey === null || grants.current !== null);
        },
        whenReady: async () => void (await Promise.all([started.whenRead, grants.renew()])),
        write: () => writeToken(started),
      },
      signal,
    );
    return started;
  };

  const token = async (): Promise<string> => {
    if (run === null) return '';
    const asked = run;
    const granted = asked.grants.renew();
    if (!asked.isRead || asked.grants.current === null)
      await atMost(TOKEN_WAIT_MS_MAX, Promise.all([asked.whenRead, granted]));
    return asked.controller.signal.aborted ? '' : writeToken(asked);
  };

  return {
    start(options = {}) {
      if (RUNS in document) return false;
      Object.defineProperty(document, RUNS, { value: true, configurable: true });
      run = begin(completeOptions(options, servedFrom));
      return true;
    },
    token,
    async decide(body) {
      if (run === null) throw new CollectorError('not_started');
      const { publicKey, server } = run.settings;
      if (publicKey === null) throw new CollectorError('no_public_key');
      if (crypto.subtle === undefined) throw new CollectorError('insecure_context');
      const referrer = readProperty(Document, 'referrer', document);
      const filled = {
        session_token: body['session_token'] ?? (await token()),
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
      if (status !== 200)
        throw new CollectorError(typeof fields['code'] === 'string' ? fields['code'] : 'refused', status);
      return fields;
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

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, end]);
  clearTimeout(timer);
}
