import type { ApiCalls } from './api-types.ts';

/** The JSON of a call's successful response, its query and its body, by its operationId in docs/openapi.json. */
export type ApiAnswer<Name extends keyof ApiCalls> = ApiCalls[Name]['answer'];
export type ApiQuery<Name extends keyof ApiCalls> = ApiCalls[Name]['query'];
export type ApiCallBody<Name extends keyof ApiCalls> = ApiCalls[Name]['body'];

export interface ApiCallParts {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

/** Makes one call with the secret key and returns its JSON. Rejects with a `GatehouseError` or a `GatehouseUnavailable`. */
export type ApiCall = <Name extends keyof ApiCalls>(
  name: Name,
  method: string,
  path: string,
  parts?: ApiCallParts,
) => Promise<ApiAnswer<Name>>;
