import { HEADER_BYTES_MAX, HEADER_COUNT_MAX } from '../kernel/limits.ts';
import { ColdHeaders, isColdHeader, NO_COLD_HEADERS } from '../kernel/cold-headers.ts';
import type { PathParams, RequestHead } from './exchange.ts';
import { problem, type Problem } from '../contract/problem.ts';

/** Space, tab and visible ASCII. */
const VISIBLE = /^[\t\x20-\x7e]*$/;
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const LENGTH = /^\d{1,15}$/;
/** Origin form: a path from the root. The query is checked separately. No fragment, backslash or space. */
const TARGET_PATH = /^\/[!$-.0-;=@-Z_a-z~%/]*$/;
/** Bytes of a header field on the wire besides its name and value: colon, space, CR, LF. */
const FIELD_OVERHEAD_BYTES = 4;
const NO_PARAMS: PathParams = {};

/**
 * Strict header validation in front of both transports. Their parsers are lax in different ways. A request that passes has only one
 * interpretation, on either transport: at most one well-formed Content-Length, no Transfer-Encoding, no second Host, Content-Type,
 * Authorization or X-SVC field, visible ASCII values, and a plain origin-form target.
 *
 * Collects the header fields of one request. One instance serves all requests, because each header is read synchronously.
 * Measured: 0.31 µs for seven fields (bench/micro).
 */
export class HeaderValidation {
  #bytes = 0;
  #count = 0;
  #key = '';
  #timestamp = '';
  #requestId = '';
  #signature = '';
  #authorization = '';
  #contentType = '';
  #host = '';
  #cold: ColdHeaders = NO_COLD_HEADERS;
  #contentLength = -1;
  #hosts = 0;
  #contentTypes = 0;
  #authorizations = 0;
  #keys = 0;
  #timestamps = 0;
  #requestIds = 0;
  #signatures = 0;
  #otherSvc: string[] | null = null;
  #transferEncoding = false;
  #fault: string | null = null;

  begin(): void {
    this.#bytes = 0;
    this.#count = 0;
    this.#key = '';
    this.#timestamp = '';
    this.#requestId = '';
    this.#signature = '';
    this.#authorization = '';
    this.#contentType = '';
    this.#host = '';
    this.#cold = NO_COLD_HEADERS;
    this.#contentLength = -1;
    this.#hosts = 0;
    this.#contentTypes = 0;
    this.#authorizations = 0;
    this.#keys = 0;
    this.#timestamps = 0;
    this.#requestIds = 0;
    this.#signatures = 0;
    this.#otherSvc = null;
    this.#transferEncoding = false;
    this.#fault = null;
  }

  /** `name` must be in lower case. Bound to the instance, so that it can be passed directly to a parser. */
  readonly field = (name: string, value: string): void => {
    this.#bytes += name.length + value.length + FIELD_OVERHEAD_BYTES;
    this.#count++;
    if (!VISIBLE.test(value)) this.#fault ??= 'A header value contains a character that is not visible ASCII.';
    switch (name) {
      case 'host':
        this.#hosts++;
        this.#host = value;
        break;
      case 'content-type':
        this.#contentTypes++;
        this.#contentType = value;
        break;
      case 'x-svc-key':
        this.#keys++;
        this.#key = value;
        break;
      case 'x-svc-ts':
        this.#timestamps++;
        this.#timestamp = value;
        break;
      case 'x-svc-rid':
        this.#requestIds++;
        this.#requestId = value;
        break;
      case 'x-svc-sig':
        this.#signatures++;
        this.#signature = value;
        break;
      case 'content-length':
        if (this.#contentLength >= 0) this.#fault ??= 'Content-Length is given twice.';
        else if (LENGTH.test(value)) this.#contentLength = Number(value);
        else this.#fault ??= 'Content-Length is not a number.';
        break;
      case 'authorization':
        this.#authorizations++;
        this.#authorization = value;
        break;
      default:
        this.#unusual(name, value);
    }
  };

  #unusual(name: string, value: string): void {
    if (isColdHeader(name)) this.#keep(name, value);
    else if (name === 'transfer-encoding') this.#transferEncoding = true;
    else if (name === 'expect') {
      if (value.toLowerCase() !== '100-continue') this.#fault ??= 'Expect is not 100-continue.';
    } else if (name.startsWith('x-svc-')) {
      this.#otherSvc ??= [];
      if (this.#otherSvc.includes(name)) this.#fault ??= 'An X-SVC header is given twice.';
      this.#otherSvc.push(name);
    } else if (!NAME.test(name)) this.#fault ??= 'A header name is malformed.';
  }

  #keep(name: string, value: string): void {
    if (this.#cold === NO_COLD_HEADERS) this.#cold = new ColdHeaders();
    if (!this.#cold.add(name, value)) this.#fault ??= 'A header that must be given once is given twice.';
    // Most likely the client's variable was never set. If the key were treated as absent, the client would have no protection.
    if (name === 'idempotency-key' && value === '') this.#fault ??= 'Idempotency-Key is empty.';
  }

  /** Completes the header. `query`: null without a `?`. */
  end(method: string, path: string, query: string | null): RequestHead {
    const target = query === null ? path : `${path}?${query}`;
    return {
      method,
      path,
      query: query ?? '',
      target,
      svcKey: this.#key,
      svcTimestamp: this.#timestamp,
      svcRequestId: this.#requestId,
      svcSignature: this.#signature,
      authorization: this.#authorization,
      contentType: this.#contentType,
      host: this.#host,
      cold: this.#cold,
      contentLength: this.#contentLength,
      lengthFault: this.#transferEncoding
        ? problem('length_required', 'Send the body with Content-Length; Transfer-Encoding is not accepted.')
        : null,
      formFault: this.#formFault(path, query ?? ''),
      params: NO_PARAMS,
    };
  }

  #formFault(path: string, query: string): Problem | null {
    // The target counts too: like the fields, it is signed and stored.
    if (this.#bytes + path.length + query.length > HEADER_BYTES_MAX || this.#count > HEADER_COUNT_MAX) {
      return problem('headers_too_large', `Header fields are limited to ${HEADER_BYTES_MAX} bytes in all.`);
    }
    if (this.#hosts !== 1) this.#fault ??= 'Host must be given once.';
    const repeated =
      this.#contentTypes > 1 ||
      this.#authorizations > 1 ||
      this.#keys > 1 ||
      this.#timestamps > 1 ||
      this.#requestIds > 1 ||
      this.#signatures > 1;
    if (repeated) this.#fault ??= 'A header that must be given once is given twice.';
    if (!TARGET_PATH.test(path)) this.#fault ??= 'The request target is malformed.';
    if (query !== '' && !VISIBLE.test(query)) this.#fault ??= 'The request target is malformed.';
    return this.#fault === null ? null : problem('invalid_request', this.#fault);
  }
}
