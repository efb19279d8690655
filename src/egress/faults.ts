import { isIPv4 } from 'node:net';
import type { DeliveryError } from '../work/webhook.ts';

/** Why a request failed. Derived from the `code` that undici, Node or OpenSSL reports, never from the text of a message. */

export type EgressError = Extract<
  DeliveryError,
  | 'dns_error'
  | 'blocked_address'
  | 'connection_refused'
  | 'connection_reset'
  | 'connect_timeout'
  | 'timeout'
  | 'tls_error'
  | 'response_too_large'
  | 'bad_response'
  | 'shutdown'
>;

export interface EgressFault {
  readonly error: EgressError;
  /** For the operator's log only. */
  readonly detail: string;
  /**
   * The system's error code if this machine lacked descriptors, memory or ports. Then nothing was sent, and the failure says nothing about
   * the other side. `error` is the closest match, for callers that cannot postpone the request.
   */
  readonly lack?: string;
}

/** Error of a body stream that was handed out before its end and whose remainder did not arrive. */
export class BodyCutError extends Error {
  readonly fault: EgressFault;

  constructor(fault: EgressFault) {
    super(`${fault.error}: ${fault.detail}`);
    this.fault = fault;
  }
}

export type Phase = 'connect' | 'tls' | 'exchange';

/**
 * Choice: a missing route and a firewall's refusal count as connection_refused, because no connection was made. A peer that
 * stops in the middle of a response counts as connection_reset; one that sends something else than HTTP counts as bad_response.
 */
const BY_CODE: Readonly<Record<string, EgressError>> = {
  ECONNREFUSED: 'connection_refused',
  EHOSTUNREACH: 'connection_refused',
  ENETUNREACH: 'connection_refused',
  EHOSTDOWN: 'connection_refused',
  ENETDOWN: 'connection_refused',
  EADDRNOTAVAIL: 'connection_refused',
  EAFNOSUPPORT: 'connection_refused',
  EINVAL: 'connection_refused',
  EACCES: 'connection_refused',
  EPERM: 'connection_refused',
  EMFILE: 'connection_refused',
  ENFILE: 'connection_refused',
  ENOBUFS: 'connection_refused',
  ENOMEM: 'connection_refused',
  ECONNRESET: 'connection_reset',
  ECONNABORTED: 'connection_reset',
  EPIPE: 'connection_reset',
  UND_ERR_SOCKET: 'connection_reset',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'connection_reset',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'response_too_large',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'response_too_large',
  HPE_HEADER_OVERFLOW: 'response_too_large',
  HPE_INVALID_EOF_STATE: 'connection_reset',
};

/** During the handshake, every failure except a closed connection is a TLS error. The codes are many, and OpenSSL adds new ones. */
const TLS_CODE = /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO$|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/;

export function faultOf(error: unknown, phase: Phase): EgressFault {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const detail = `${code} ${message}`.trim().slice(0, DETAIL_CHARACTERS_MAX);
  const fault = { error: isRefusedByParser(error, code) ? 'bad_response' : errorOf(code, phase), detail };
  return phase === 'connect' && (isLack(code) || hasNoPort(code, error)) ? { ...fault, lack: code } : fault;
}

const LACKS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** Returns whether the code means that this machine ran out of a resource. */
export function isLack(code: string): boolean {
  return LACKS.has(code);
}

/**
 * Returns whether all local ports for this destination are in use. For IPv6 the same code also means that this machine has no IPv6 address,
 * which is permanent.
 */
function hasNoPort(code: string, error: unknown): boolean {
  if (code !== 'EADDRNOTAVAIL' || typeof error !== 'object' || error === null) return false;
  return 'address' in error && typeof error.address === 'string' && isIPv4(error.address);
}

/**
 * Returns whether undici's parser refused bytes of a response. Its errors can lack a code, and have the refused bytes in `data`, which is
 * empty if the connection ended too early.
 */
function isRefusedByParser(error: unknown, code: string): boolean {
  if (!(error instanceof Error) || error.name !== 'HTTPParserError' || code in BY_CODE) return false;
  return 'data' in error && error.data !== '';
}

/** Choice: limited because a peer can put text of its own into a message. */
const DETAIL_CHARACTERS_MAX = 300;

function errorOf(code: string, phase: Phase): EgressError {
  if (code === 'ETIMEDOUT') return phase === 'connect' ? 'connect_timeout' : 'timeout';
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (phase === 'tls' || TLS_CODE.test(code)) return 'tls_error';
  return phase === 'connect' ? 'connection_refused' : 'connection_reset';
}

/** Returns '' if there is no code. An error with several attempts returns the code of the first attempt. */
export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : '';
}
