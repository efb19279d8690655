import { hash } from 'node:crypto';
import { EXTRACTION_REQUEST } from '../../contract/requests/extraction-requests.ts';
import { SESSION_REQUEST } from '../../contract/requests/session-requests.ts';
import type { BodyReader } from '../kit/request-body.ts';
import type { Validated } from '../../contract/validate.ts';
import type { NewSession } from '../../extract/base/jobs-port.ts';
import { checkRequest, type CheckedRequest, type RequestParts } from '../../extract/request/read-request.ts';
import { readSession } from '../../extract/request/session-request.ts';
import { watchBody, watchChangeBody } from '../watches/watch-body.ts';
import type { CheckTarget } from '../../extract/request/request-target.ts';

/** Parsers for the request bodies of the extraction endpoints. */

/** A checked request as plain data that can be sent between threads: connector and operation are given by name. */
export type ReadExtractionRequest = Omit<CheckedRequest, 'connector' | 'operation'> & {
  readonly connector: string;
  readonly operation: string;
};

export interface ExtractionBody {
  readonly checked: Validated<ReadExtractionRequest>;
  /** SHA-256 of the JSON text without white space between tokens, so equal bodies have equal hashes. */
  readonly sha256: Uint8Array;
}

export function extractionBody(parts: RequestParts): BodyReader<ExtractionBody> {
  return {
    name: 'extraction',
    shape: 'object',
    // Operations refuse members of `input` that they do not read.
    schema: EXTRACTION_REQUEST,
    // Compiling a pattern of a few characters takes milliseconds.
    isSlow: (body) => hasSchema((body as { readonly output?: unknown }).output),
    read(body) {
      // A `Buffer` that comes from the worker arrives as a plain Uint8Array.
      const sha256 = new Uint8Array(hash('sha256', JSON.stringify(body), 'buffer'));
      const checked = checkRequest(body, parts);
      if (checked.kind === 'problem') return { checked, sha256 };
      const { connector, operation, ...rest } = checked.value;
      return {
        checked: { kind: 'ok', value: { ...rest, connector: connector.id, operation: operation.name } },
        sha256,
      };
    },
  };
}

function hasSchema(output: unknown): boolean {
  return typeof output === 'object' && output !== null && 'schema' in output && output.schema !== null;
}

export function sessionBody(
  checkTarget: CheckTarget,
): BodyReader<Validated<Pick<NewSession, 'session' | 'expiresAtMs'>>> {
  return {
    name: 'session',
    shape: 'object',
    schema: SESSION_REQUEST,
    read: (body, nowMs) => readSession(body, nowMs, checkTarget),
  };
}

/** All body parsers, for the worker, which finds them by name. */
export function extractionBodies(parts: RequestParts): readonly BodyReader<unknown>[] {
  return [extractionBody(parts), sessionBody(parts.checkTarget), watchBody(parts), watchChangeBody(parts)];
}
