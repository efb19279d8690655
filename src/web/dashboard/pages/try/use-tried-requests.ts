import { useEffect, useRef, useState } from 'preact/hooks';
import type { ExplainedDecisionBody, SimulationBody } from '../../../../contract/wire-types.ts';
import { ApiFault, getJson, send, toFault, v1 } from '../../api.ts';
import type { AnswerOutcome, TriedRun } from './answer-view.tsx';
import { readPresetBody } from './presets.ts';
import { METHOD, PATH, signTriedRequest } from './request-signing.ts';

/** Choice: a decision takes milliseconds; the rest is the network. */
const TIMEOUT_MS = 10_000;

export interface TriedRequests {
  /** The run that is shown; null before the first one and after `clear`. */
  readonly run: TriedRun | null;
  /** Simulates one request; an earlier run ends. */
  readonly simulate: (text: string) => void;
  /** Makes real decisions about the requests, one after the other; an earlier run ends. */
  readonly decideAll: (key: string, texts: readonly string[]) => void;
  readonly clear: () => void;
}

/** Sends tried requests, and shows each outcome when it comes. A run ends with the page. */
export function useTriedRequests(): TriedRequests {
  const [run, setRun] = useState<TriedRun | null>(null);
  const current = useRef<AbortController | null>(null);
  useEffect(() => () => current.current?.abort(), []);

  const start = async (
    texts: readonly string[],
    read: (text: string, n: number, signal: AbortSignal) => Promise<AnswerOutcome>,
  ): Promise<void> => {
    current.current?.abort();
    const own = new AbortController();
    current.current = own;
    const outcomes: AnswerOutcome[] = [];
    const show = (isBusy: boolean, fault: ApiFault | null = null): void => {
      if (!own.signal.aborted) setRun({ total: texts.length, outcomes: [...outcomes], fault, isBusy });
    };
    show(true);
    try {
      for (const [n, text] of texts.entries()) {
        if (own.signal.aborted) return;
        outcomes.push(await read(text, n, own.signal));
        show(true);
      }
      show(false);
    } catch (error) {
      show(false, toFault(error));
    }
  };

  return {
    run,
    simulate: (text) => void start([text], (sent, _n, signal) => simulate(sent, signal)),
    decideAll: (key, texts) => void start(texts, (sent, n, signal) => decide(key, sent, n, signal)),
    clear: () => {
      current.current?.abort();
      setRun(null);
    },
  };
}

async function simulate(text: string, signal: AbortSignal): Promise<AnswerOutcome> {
  const answer = await send<SimulationBody>('POST', v1('/simulate'), JSON.parse(text), { signal });
  return { n: 0, isReal: false, answer, summary: answer, raw: JSON.stringify(answer, null, 2) };
}

/** Sends a signed request to the API beside this page, as any client would: without the cookie. */
async function decide(key: string, text: string, n: number, signal: AbortSignal): Promise<AnswerOutcome> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const requestId = crypto.randomUUID();
  const { signature } = await signTriedRequest(key, text, timestamp, requestId);
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const response = await fetch(PATH, {
    method: METHOD,
    body: text,
    credentials: 'omit',
    cache: 'no-store',
    signal: timeout,
    headers: {
      'Content-Type': 'application/json',
      'X-SVC-Key': key,
      'X-SVC-Ts': timestamp,
      'X-SVC-Rid': requestId,
      'X-SVC-Sig': signature,
    },
  });
  const raw = await response.text();
  const parsed = readPresetBody(raw);
  if (!response.ok || parsed === null) throw faultOf(response.status, parsed);
  const summary = parsed as unknown as AnswerOutcome['summary'];
  return {
    n,
    isReal: true,
    summary,
    answer: await explain(summary.request_id, signal),
    raw: JSON.stringify(parsed, null, 2),
  };
}

function faultOf(status: number, parsed: Readonly<Record<string, unknown>> | null): ApiFault {
  const { code, title, detail, request_id: requestId } = parsed ?? {};
  if (typeof code === 'string' && typeof title === 'string')
    return new ApiFault(status, {
      code,
      title,
      ...(typeof detail === 'string' ? { detail } : {}),
      ...(typeof requestId === 'string' ? { request_id: requestId } : {}),
    });
  return new ApiFault(status, {
    code: 'unexpected_response',
    title: status === 404 ? 'The API is not on this address: the dashboard has a port of its own' : `Status ${status}`,
  });
}

/** null: it is a decision of another customer, or already gone. */
async function explain(requestId: string, signal: AbortSignal): Promise<ExplainedDecisionBody | null> {
  try {
    return await getJson<ExplainedDecisionBody>(v1(`/decisions/${encodeURIComponent(requestId)}`), { signal });
  } catch (error) {
    if (toFault(error).status === 404) return null;
    throw error;
  }
}
