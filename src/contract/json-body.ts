import { isAscii, isUtf8 } from 'node:buffer';
import { problem, type Problem } from './problem.ts';
import { JSON_DEPTH_MAX } from '../kernel/limits.ts';

export type ParsedObject = Readonly<Record<string, unknown>>;
export type ParsedJson<T> = { readonly kind: 'json'; readonly value: T } | JsonFault;

interface JsonFault {
  readonly kind: 'fault';
  readonly problem: Problem;
}

/**
 * Parses the bytes into an object without duplicate names at its top level, or into the 400. `bytes` may be a view of shared memory.
 * `itemsMax`: members of objects and elements of arrays, at any depth.
 */
export function parseJsonObject(bytes: Buffer, itemsMax = Number.POSITIVE_INFINITY): ParsedJson<ParsedObject> {
  const shape = scanShape(bytes, itemsMax);
  if (shape.items > itemsMax && shape.depth <= JSON_DEPTH_MAX)
    return fault('too_many_members', `The body has more than ${itemsMax} members and elements in all.`);
  const parsed = parseJson(bytes, shape);
  if (parsed.kind === 'fault') return parsed;
  const { value, topLevelNames } = parsed;
  return isObject(value) ? checkNames(value, topLevelNames) : NO_OBJECT;
}

/** Does the same, and also accepts arrays. */
export function parseJsonObjectOrArray(bytes: Buffer): ParsedJson<ParsedObject | readonly unknown[]> {
  const parsed = parseJson(bytes, scanShape(bytes, Number.POSITIVE_INFINITY));
  if (parsed.kind === 'fault') return parsed;
  const { value, topLevelNames } = parsed;
  if (Array.isArray(value)) return { kind: 'json', value: value as readonly unknown[] };
  if (isObject(value)) return checkNames(value, topLevelNames);
  return fault('invalid_request', 'The body is neither a JSON object nor an array.');
}

type Parsed = { readonly kind: 'parsed'; readonly value: unknown; readonly topLevelNames: number } | JsonFault;

function parseJson(bytes: Buffer, { depth, topLevelNames }: Shape): Parsed {
  const text = textOf(bytes, depth);
  if (typeof text !== 'string') return text;
  try {
    return { kind: 'parsed', value: JSON.parse(text), topLevelNames };
  } catch {
    return MALFORMED;
  }
}

/** `depth`: of its nesting. */
function textOf(bytes: Buffer, depth: number): string | JsonFault {
  if (depth > JSON_DEPTH_MAX) return fault('invalid_request', `The body nests deeper than ${JSON_DEPTH_MAX} levels.`);
  if (isAscii(bytes)) return bytes.latin1Slice();
  return isUtf8(bytes) ? bytes.utf8Slice() : fault('malformed_json', 'The body is not valid UTF-8.');
}

/** JSON.parse keeps the last of equal names, so fewer names than colons at the top level means that a name is duplicated. */
function checkNames(value: ParsedObject, topLevelNames: number): ParsedJson<ParsedObject> {
  let names = 0;
  for (const _name in value) names++;
  if (names === topLevelNames) return { kind: 'json', value };
  return DUPLICATE_NAME;
}

function isObject(value: unknown): value is ParsedObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fault(code: 'malformed_json' | 'invalid_request' | 'too_many_members', detail: string): JsonFault {
  return { kind: 'fault', problem: problem(code, detail) };
}

const MALFORMED = fault('malformed_json', 'The body is not valid JSON.');
const NO_OBJECT = fault('invalid_request', 'The body is not a JSON object.');
const DUPLICATE_NAME = fault('invalid_request', 'A name occurs twice at the top level of the body.');

interface Shape {
  /** Deepest nesting; the top-level object is 1. */
  readonly depth: number;
  /** Colons directly inside the top-level object: its names, duplicates included. */
  readonly topLevelNames: number;
  /** Members and elements, at any depth. */
  readonly items: number;
}

/**
 * Scans the bytes once before JSON.parse: V8's parser accepts any depth, but later code would overflow the stack. For bytes that are not
 * JSON the counts are meaningless, but the parser rejects those.
 * Stops behind `itemsMax` members and elements.
 * Measured: 0.4 µs for a usual body of 400 bytes (bench/micro).
 */
function scanShape(bytes: Uint8Array, itemsMax: number): Shape {
  let depth = 0;
  let deepest = 0;
  let names = 0;
  let items = 0;
  const length = bytes.length;
  // One more is counted until an empty list has ended.
  for (let i = 0; i < length && items <= itemsMax + 1; i++) {
    switch (bytes[i] ?? 0) {
      case 0x22: // a string: skip to its end
        for (i++; i < length && bytes[i] !== 0x22; i++) if (bytes[i] === 0x5c) i++;
        break;
      case 0x5b:
      case 0x7b:
        items++;
        depth++;
        if (depth > deepest) deepest = depth;
        break;
      case 0x2c:
        items++;
        break;
      case 0x5d:
      case 0x7d:
        if (isEmptyBefore(bytes, i)) items--;
        depth--;
        break;
      case 0x3a:
        if (depth === 1) names++;
        break;
      default:
    }
  }
  return { depth: deepest, topLevelNames: names, items };
}

/** Whether the object or array that ends at `end` has nothing in it. */
function isEmptyBefore(bytes: Uint8Array, end: number): boolean {
  let at = end - 1;
  while ((bytes[at] ?? 0x5b) <= 0x20) at--;
  return bytes[at] === 0x5b || bytes[at] === 0x7b;
}
