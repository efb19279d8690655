import { isAscii } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { createRequire, Module } from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { isMainThread } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { collectGarbageAlone } from './garbage-collection.ts';

/**
 * Loads a program of the bundle with its code cache, which the build writes beside it: without one, V8 parses and compiles the whole
 * program at every start and in every thread.
 *
 * A cache is used only if its check sums fit the program and itself, and if V8 accepts it: it was made by the same version of V8 with the
 * same options. Otherwise the program is compiled. Nothing is written, and the cache is in the folder of the program, so a user who can
 * change the cache can change the program as well.
 * Measured: docs/decisions.md, D-515.
 */

/**
 * Options of the command line for which the build writes a cache, in addition to the one without options: those of `npm start`. All caches
 * are made with the options of `collectGarbageAlone` as well.
 */
export const CACHED_OPTIONS = '--max-semi-space-size=8';

/** Check sums of the program and of the rest of the cache, 4 bytes each. */
const HEAD_BYTES = 8;

/** Returns the file with the program of this name. */
export function bodyFile(folder: string, name: string): string {
  return join(folder, `${name}-body.cjs`);
}

/** Returns the cache of a program for a process that was started with these options of Node.js. */
export function cacheFile(folder: string, name: string, options: readonly string[]): string {
  return join(folder, `${name}-body.${options.includes(CACHED_OPTIONS) ? 'start' : 'plain'}.cache`);
}

/** Returns the content of a cache file. */
export function packCache(source: Buffer, data: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(crc32(source));
  head.writeUInt32LE(crc32(data), 4);
  return Buffer.concat([head, data]);
}

/** Returns the data for V8; undefined if there is none for this program. */
function readCache(file: string, source: Buffer): Buffer | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return undefined;
  }
  if (bytes.length < HEAD_BYTES) return undefined;
  const data = bytes.subarray(HEAD_BYTES);
  return bytes.readUInt32LE() === crc32(source) && bytes.readUInt32LE(4) === crc32(data) ? data : undefined;
}

const WRAPPER = '(function (exports, require, module, __filename, __dirname) {';
const WRAPPER_END = '\n})';

/**
 * Returns the file of a program: the text of a CommonJS module in the function that Node.js wraps it in. Wrapping it when it is loaded
 * would copy it.
 */
export function wrapProgram(text: string): string {
  return `${WRAPPER}${text}${WRAPPER_END}`;
}

/** Returns the module in the file of a program. */
export function unwrapProgram(file: string): string {
  return file.slice(WRAPPER.length, -WRAPPER_END.length);
}

type Program = (
  this: unknown,
  exports: unknown,
  require: NodeJS.Require,
  module: { exports: unknown },
  filename: string,
  folder: string,
) => void;

/** A string of single bytes needs half the memory and is read faster. */
function textOf(source: Buffer): string {
  return source.toString(isAscii(source) ? 'latin1' : 'utf8');
}

/** Compiles the file of a program. Its completion value is the function around the module. */
export function compileProgram(filename: string, source: Buffer, cachedData?: Buffer): Script {
  return new Script(textOf(source), {
    filename,
    columnOffset: -WRAPPER.length,
    ...(cachedData !== undefined && { cachedData }),
  });
}

/**
 * Runs the program of this name and returns its exports. The first program of a process sets the options of its garbage collections
 * first: V8 accepts a cache only with the options that it was made with, and threads start later.
 */
export function loadProgram(folder: string, name: string): unknown {
  if (isMainThread) collectGarbageAlone();
  const filename = bodyFile(folder, name);
  const source = readFileSync(filename);
  // Only the loader of Node.js reads source maps.
  if (process.sourceMapsEnabled) return loadWithSourceMap(filename, textOf(source));
  const require = createRequire(filename);
  const script = compileProgram(filename, source, readCache(cacheFile(folder, name, process.execArgv), source));
  const module: { exports: unknown } = { exports: {} };
  const run = script.runInThisContext() as Program;
  run.call(module.exports, module.exports, require, module, filename, dirname(filename));
  return module.exports;
}

function loadWithSourceMap(filename: string, file: string): unknown {
  const module = new Module(filename) as Module & { _compile(text: string, filename: string): void };
  module.filename = filename;
  module.paths = createRequire(filename).resolve.paths('any') ?? [];
  module._compile(unwrapProgram(file), filename);
  return module.exports;
}
