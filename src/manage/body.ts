import type { CustomerNumber } from '../base/brand.ts';
import type { Problem } from '../base/problem.ts';
import { type JsonObject, parseJsonObject, parseJsonObjectOrArray } from '../core/json-body.ts';
import { MANAGED_BODY_INLINE_BYTES_MAX } from '../limits.ts';

/**
 * Turns one kind of body into what its handler needs. Small bodies are read on the main thread; large ones, and those that
 * `isSlow`, in a worker (`workers/read.ts`), because a hostile body of 1 MiB takes up to 0.3 s to parse and check. So a reader is
 * a pure function, known to both threads by its name, and gives plain data that can be copied between them.
 */
export interface BodyReader<T> {
  readonly name: string;
  readonly shape: 'object' | 'object_or_array';
  read(body: JsonObject | readonly unknown[], nowMs: number): T;
  /** Whether a body takes long although it is small. */
  isSlow?(body: JsonObject | readonly unknown[]): boolean;
}

/** What a reader gives. */
export type BodyOf<Reader> = Reader extends BodyReader<infer T> ? T : never;

export type BodyRead<T> =
  | { readonly kind: 'read'; readonly value: T }
  | { readonly kind: 'fault'; readonly problem: Problem };

/** Reads bodies in a worker. */
export interface RemoteBodies {
  /** `body` is given away: it is empty from then on. */
  read(
    customer: CustomerNumber,
    reader: string,
    body: Uint8Array<ArrayBuffer>,
    nowMs: number,
  ): Promise<BodyRead<unknown>>;
}

/** The body is not looked at. It must be JSON all the same. */
export const ANY_BODY: BodyReader<null> = { name: 'any', shape: 'object', read: () => null };

/** Parses and reads, on this thread. */
export function readBody<T>(reader: BodyReader<T>, body: Uint8Array, nowMs: number): BodyRead<T> {
  const parsed = parse(reader, body);
  return parsed.kind === 'fault' ? parsed : { kind: 'read', value: reader.read(parsed.value, nowMs) };
}

/** Parses and reads: here where that takes no longer than a slice, else in the worker. `body` may be given away. */
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
    if (reader.isSlow?.(parsed.value) !== true) return { kind: 'read', value: reader.read(parsed.value, nowMs) };
  }
  // The worker's reader of that name is this one.
  return (await remote.read(customer, reader.name, body, nowMs)) as BodyRead<T>;
}

function parse(reader: BodyReader<unknown>, body: Uint8Array) {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return reader.shape === 'object' ? parseJsonObject(bytes) : parseJsonObjectOrArray(bytes);
}
