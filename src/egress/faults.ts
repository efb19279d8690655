import { isIPv4 } from 'node:net';
import type { DeliveryError } from '../core/webhook.ts';

/** Why a request failed, told by the `code` of what undici, Node or OpenSSL reports; never by the text of a message. */

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
  | 'shutdown'
>;

export interface EgressFault {
  readonly error: EgressError;
  /** For the operator's log only. */
  readonly detail: string;
  /**
   * The system's code where it was this machine that had no descriptor, memory or port left: nothing was sent, and it says nothing
   * of the other side. `error` is the nearest that there is, for those who cannot put it off.
   */
  readonly lack?: string;
}

/** What a body that was given before its end ends with, when the rest of it does not come. */
export class BodyCutError extends Error {
  readonly fault: EgressFault;

  constructor(fault: EgressFault) {
    super(`${fault.error}: ${fault.detail}`);
    this.fault = fault;
  }
}

export type Phase = 'connect' | 'tls' | 'exchange';

/**
 * Choice: no route and a firewall's refusal are connection_refused, for no connection came about. A peer that does not speak HTTP,
 * or breaks off in the middle of it, is connection_reset: nothing that it sends is an answer.
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
};

/** In the handshake everything but the end of the connection is a fault of TLS; its codes are many and OpenSSL adds to them. */
const TLS_CODE = /^(?:ERR_TLS|ERR_SSL|ERR_OSSL|EPROTO$|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/;

export function faultOf(error: unknown, phase: Phase): EgressFault {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const detail = `${code} ${message}`.trim().slice(0, DETAIL_CHARACTERS_MAX);
  const fault = { error: errorOf(code, phase), detail };
  return phase === 'connect' && (isLack(code) || hasNoPort(code, error)) ? { ...fault, lack: code } : fault;
}

const LACKS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** Whether the code tells of something that this machine has too little of. */
export function isLack(code: string): boolean {
  return LACKS.has(code);
}

/** All ports for this destination are in use. Of IPv6 the code also says that this machine has no such address, which does not pass. */
function hasNoPort(code: string, error: unknown): boolean {
  if (code !== 'EADDRNOTAVAIL' || typeof error !== 'object' || error === null) return false;
  return 'address' in error && typeof error.address === 'string' && isIPv4(error.address);
}

/** Choice: a peer can put its own text into a message. */
const DETAIL_CHARACTERS_MAX = 300;

function errorOf(code: string, phase: Phase): EgressError {
  if (code === 'ETIMEDOUT') return phase === 'connect' ? 'connect_timeout' : 'timeout';
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (phase === 'tls' || TLS_CODE.test(code)) return 'tls_error';
  return phase === 'connect' ? 'connection_refused' : 'connection_reset';
}

/** '' when there is none. Of several attempts in one error, that of the first. */
export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : '';
}
