import { isAscii, isUtf8 } from 'node:buffer';
import { problem, type Problem } from '../base/problem.ts';
import { JSON_DEPTH_MAX } from '../limits.ts';

export type JsonObject = Readonly<Record<string, unknown>>;
export type ParsedJson<T> = { readonly kind: 'json'; readonly value: T } | JsonFault;

interface JsonFault {
  readonly kind: 'fault';
  readonly problem: Problem;
}

/** Bytes → an object without a name twice at its top level, or the 400. `bytes` may be a view of shared memory. */
export function parseJsonObject(bytes: Buffer): ParsedJson<JsonObject> {
  const parsed = parseJson(bytes);
  if (parsed.kind === 'fault') return parsed;
  const { value, topLevelNames } = parsed;
  return isObject(value)
    ? checkNames(value, topLevelNames)
    : fault('invalid_request', 'The body is not a JSON object.');
}

/** The same, and arrays are taken too. */
export function parseJsonObjectOrArray(bytes: Buffer): ParsedJson<JsonObject | readonly unknown[]> {
  const parsed = parseJson(bytes);
  if (parsed.kind === 'fault') return parsed;
  const { value, topLevelNames } = parsed;
  if (Array.isArray(value)) return { kind: 'json', value: value as readonly unknown[] };
  if (isObject(value)) return checkNames(value, topLevelNames);
  return fault('invalid_request', 'The body is neither a JSON object nor an array.');
}

type Parsed = { readonly kind: 'parsed'; readonly value: unknown; readonly topLevelNames: number } | JsonFault;

function parseJson(bytes: Buffer): Parsed {
  const shape = scanShape(bytes);
  if (shape.depth > JSON_DEPTH_MAX)
    return fault('invalid_request', `The body nests deeper than ${JSON_DEPTH_MAX} levels.`);
  let text: string;
  if (isAscii(bytes)) text = bytes.toString('latin1');
  else if (isUtf8(bytes)) text = bytes.toString('utf8');
  else return fault('malformed_json', 'The body is not valid UTF-8.');
  try {
    return { kind: 'parsed', value: JSON.parse(text), topLevelNames: shape.topLevelNames };
  } catch {
    return fault('malformed_json', 'The body is not valid JSON.');
  }
}

/** JSON.parse keeps the last of equal names, so fewer names than colons at the top level means that one came twice. */
function checkNames(value: JsonObject, topLevelNames: number): ParsedJson<JsonObject> {
  let names = 0;
  for (const _name in value) names++;
  if (names === topLevelNames) return { kind: 'json', value };
  return fault('invalid_request', 'The body has a top-level name twice.');
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fault(code: 'malformed_json' | 'invalid_request', detail: string): JsonFault {
  return { kind: 'fault', problem: problem(code, detail) };
}

interface Shape {
  /** Deepest nesting; the top-level object is 1. */
  readonly depth: number;
  /** Colons directly inside the top-level object: its names, duplicates included. */
  readonly topLevelNames: number;
}

/**
 * One pass over the bytes before JSON.parse: V8's parser takes any depth, but what comes after it overflows the stack.
 * Of bytes that are no JSON the counts mean nothing, and the parser refuses those.
 * Measured: 0.4 µs for a usual body of 400 bytes (bench/micro).
 */
function scanShape(bytes: Uint8Array): Shape {
  let depth = 0;
  let deepest = 0;
  let names = 0;
  const length = bytes.length;
  for (let i = 0; i < length; i++) {
    switch (bytes[i] ?? 0) {
      case 0x22: // a string: skip to its end
        for (i++; i < length && bytes[i] !== 0x22; i++) if (bytes[i] === 0x5c) i++;
        break;
      case 0x5b:
      case 0x7b:
        depth++;
        if (depth > deepest) deepest = depth;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
      case 0x3a:
        if (depth === 1) names++;
        break;
      default:
    }
  }
  return { depth: deepest, topLevelNames: names };
}
