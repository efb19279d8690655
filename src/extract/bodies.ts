import { hash } from 'node:crypto';
import type { BodyReader } from '../manage/body.ts';
import type { Validated } from '../manage/validate.ts';
import type { NewSession } from './jobs-port.ts';
import { checkRequest, type CheckedRequest, type RequestParts } from './request.ts';
import { readSession } from './request/session.ts';
import type { CheckTarget } from './request/target.ts';

/** What each call of extraction may say in its body. */

/** A checked request as plain data, which can be sent from thread to thread: connector and operation by their names. */
export type ReadRequest = Omit<CheckedRequest, 'connector' | 'operation'> & {
  readonly connector: string;
  readonly operation: string;
};

export interface ExtractionBody {
  readonly checked: Validated<ReadRequest>;
  /** Of the JSON text without blanks between its parts: equal bodies have equal ones. */
  readonly sha256: Uint8Array;
}

export function extractionBody(parts: RequestParts): BodyReader<ExtractionBody> {
  return {
    name: 'extraction',
    shape: 'object',
    // A pattern of a few characters takes milliseconds to compile.
    isSlow: (body) => hasSchema((body as { readonly output?: unknown }).output),
    read(body) {
      // A `Buffer` is no longer one when it comes from the worker.
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
  return { name: 'session', shape: 'object', read: (body, nowMs) => readSession(body, nowMs, checkTarget) };
}

/** For the worker, which knows them by their names. */
export function extractionBodies(parts: RequestParts): readonly BodyReader<unknown>[] {
  return [extractionBody(parts), sessionBody(parts.checkTarget)];
}
