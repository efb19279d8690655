import * as z from 'zod';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { IgnoredMember, Problem } from '../../contract/problem.ts';
import { type ParsedObject, parseJsonObject, parseJsonObjectOrArray } from '../../contract/json-body.ts';
import { MANAGED_BODY_INLINE_BYTES_MAX } from '../../kernel/limits.ts';
import { ignoredMembers } from './ignored-members.ts';

/**
 * Converts one kind of body to the value that its handler needs. Small bodies are read on the main thread. Large bodies, and those for
 * which `isSlow` returns true, are read in a worker (`workers/read.ts`), because a hostile body of 1 MiB takes up to 0.3 s to parse and
 * validate. A reader is therefore a pure function that both threads find by its name, and returns plain data that can be copied.
 */
export interface BodyReader<T> {
  readonly name: string;
  readonly shape: 'object' | 'object_or_array';
  /** Names the members that are read; the response warns about all others. Without it, it never does. */
  readonly schema?: z.ZodType;
  read(body: ParsedObject | readonly unknown[], nowMs: number): T;
  /** Returns whether a small body takes long to read. */
  isSlow?(body: ParsedObject | readonly unknown[]): boolean;
  /** Returns for how long, in pieces longer than a time slice, the main thread will be held by the call, ms; 0 when absent. */
  heldMs?(value: T): number;
}

/** The value that a reader returns. */
export type BodyOf<Reader> = Reader extends BodyReader<infer T> ? T : never;

export type BodyRead<T> =
  | { readonly kind: 'read'; readonly value: T; readonly ignored: readonly IgnoredMember[] }
  | { readonly kind: 'fault'; readonly problem: Problem };

/** Reads bodies in a worker. */
export interface RemoteBodies {
  /** Transfers `body`, which is empty afterwards. */
  read(
    customer: CustomerNumber,
    reader: Pick<BodyReader<unknown>, 'name' | 'heldMs'>,
    body: Uint8Array<ArrayBuffer>,
    nowMs: number,
  ): Promise<BodyRead<unknown>>;
}

/** Ignores the body, which must still be a JSON object. */
export const ANY_REQUEST_BODY: BodyReader<null> = {
  name: 'any',
  shape: 'object',
  schema: z.object({}),
  read: () => null,
};

/** Parses and reads the body on this thread. */
export function readBody<T>(reader: BodyReader<T>, body: Uint8Array, nowMs: number): BodyRead<T> {
  const parsed = parse(reader, body);
  return parsed.kind === 'fault' ? parsed : readParsed(reader, parsed.value, nowMs);
}

/** Parses and reads the body, on this thread if that takes at most one time slice, else in the worker. May transfer `body`. */
export async function readBodyAnywhere<T>(
  reader: BodyReader<T>,
  body: Uint8Array<ArrayBuffer>,
  nowMs: number,
  customer: CustomerNumber,
  remote: RemoteBodies | undefined,
): Promise<BodyRead<T>> {
  if (remote === undefined) return readBody(reader, body, nowMs);
  if (body.length <= MANAGED_BODY_INLINE_BYTES_MAX) {
    const parsed = parse(reader, body);
    if (parsed.kind === 'fault') return parsed;
    if (reader.isSlow?.(parsed.value) !== true) return readParsed(reader, parsed.value, nowMs);
  }
  return (await remote.read(customer, reader, body, nowMs)) as BodyRead<T>;
}

function readParsed<T>(reader: BodyReader<T>, body: ParsedObject | readonly unknown[], nowMs: number): BodyRead<T> {
  const { schema } = reader;
  const ignored = schema === undefined ? [] : ignoredMembers(schema, body);
  return { kind: 'read', value: reader.read(body, nowMs), ignored };
}

function parse(reader: BodyReader<unknown>, body: Uint8Array) {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return reader.shape === 'object' ? parseJsonObject(bytes) : parseJsonObjectOrArray(bytes);
}
