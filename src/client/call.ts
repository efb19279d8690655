import type { CallDeadline } from './deadline.ts';
import type { CallFailure } from './failure.ts';

/** The subset of `fetch` that the client uses. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

export interface CallInput {
  readonly fetch: FetchLike;
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: NonNullable<RequestInit['body']> | undefined;
  readonly deadline: CallDeadline;
}

export type CallResult =
  /** `body`: parsed if it is JSON, else its text. */
  | { readonly kind: 'answer'; readonly status: number; readonly headers: Headers; readonly body: unknown }
  | {
      readonly kind: 'failure';
      readonly failure: Extract<CallFailure, 'timeout' | 'unreachable'>;
      readonly detail: string;
    };

/** Choice: a page of 1,000 records of 1 MiB does not occur; a longer answer is not from the service. */
const ANSWER_BYTES_MAX = 67_108_864;

/** Sends one request and reads its answer within the deadline. Never throws, and never follows a redirect. */
export async function callOnce(input: CallInput): Promise<CallResult> {
  const { deadline } = input;
  try {
    return await deadline.within(exchange(input));
  } catch (error) {
    if (deadline.isOver) return { kind: 'failure', failure: 'timeout', detail: messageOf(deadline.signal.reason) };
    return { kind: 'failure', failure: 'unreachable', detail: messageOf(error) };
  }
}

async function exchange({ fetch, url, method, headers, body, deadline }: CallInput): Promise<CallResult> {
  const response = await fetch(url, {
    method,
    headers: { ...headers },
    redirect: 'manual',
    signal: deadline.signal,
    ...(body !== undefined && { body }),
  });
  const text = await readText(response);
  return { kind: 'answer', status: response.status, headers: response.headers, body: parsed(text) };
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = (await reader.read()) as { readonly done: boolean; readonly value?: Uint8Array };
    if (done || value === undefined) return text + decoder.decode();
    bytes += value.length;
    if (bytes > ANSWER_BYTES_MAX) {
      await reader.cancel();
      throw new Error(`the answer has over ${ANSWER_BYTES_MAX} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `fetch` wraps the reason of a failed connection. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const { code } = (cause ?? {}) as { readonly code?: unknown };
  return cause instanceof Error ? `${error.message}: ${cause.message || String(code)}` : error.message;
}
