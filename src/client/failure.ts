import type { Api } from './api-types.ts';

/** Reasons for which there is no answer of the service. */
export type CallFailure = 'timeout' | 'unreachable' | 'overloaded' | 'rate_limited' | 'server_error';

/** The service refused a call: a fault of its caller, such as a wrong key or an invalid field. `status` is the HTTP status. */
export class GatehouseError extends Error {
  override readonly name = 'GatehouseError';
  readonly status: number;
  /** As in docs/api.md, for example `unknown_key`; `unexpected_answer` if the answer is not from the service. */
  readonly code: string;
  /** Invalid fields, if the service names any. */
  readonly errors: readonly Api.FieldError[];
  /** Null if the answer is not from the service. */
  readonly requestId: string | null;

  constructor(status: number, body: unknown) {
    const problem = isProblem(body) ? body : null;
    const fields = (problem?.errors ?? []).map(({ pointer, message }) => `${pointer}: ${message}`);
    const code = problem?.code ?? 'unexpected_answer';
    super([`${status} ${code}`, problem?.detail, ...fields].filter((part) => part !== undefined).join('; '));
    this.status = status;
    this.code = code;
    this.errors = problem?.errors ?? [];
    this.requestId = problem?.request_id ?? null;
  }
}

/** There is no answer: an outage, or a limit. */
export class GatehouseUnavailable extends Error {
  override readonly name = 'GatehouseUnavailable';
  readonly failure: CallFailure;

  constructor(failure: CallFailure, detail: string) {
    super(`${failure}: ${detail}`);
    this.failure = failure;
  }
}

/** A setting or an address that cannot be right. `code` tells them apart. */
export class GatehouseSettingError extends Error {
  override readonly name = 'GatehouseSettingError';
  readonly code: 'invalid_option' | 'address_refused' | 'address_unknown';

  constructor(code: GatehouseSettingError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export function isProblem(body: unknown): body is Api.Problem {
  return typeof body === 'object' && body !== null && typeof (body as { readonly code?: unknown }).code === 'string';
}

/** Returns which failure a status means; null for an answer, and for a refusal that is the caller's fault. */
export function failureOfStatus(status: number, body: unknown): CallFailure | null {
  const isOverloaded = isProblem(body) && body.code === 'overloaded';
  if (status === 429) return isOverloaded ? 'overloaded' : 'rate_limited';
  if (status === 503 && isOverloaded) return 'overloaded';
  return status >= 500 || status === 408 ? 'server_error' : null;
}
