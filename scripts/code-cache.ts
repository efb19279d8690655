import { readFileSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { collectGarbageAlone } from '../src/kernel/garbage-collection.ts';
import { bodyFile, CACHED_OPTIONS, cacheFile, compileProgram, packCache } from '../src/kernel/load-program.ts';

/**
 * Writes the code caches of a program, which `loadProgram` reads. Every function is compiled, also those that a start does not call: a
 * cache of a start's functions only is half the size and saves 2 % more, but the build would have to run each program.
 */
export function writeCodeCaches(folder: string, name: string): readonly string[] {
  const filename = bodyFile(folder, name);
  const source = readFileSync(filename);
  collectGarbageAlone();
  setFlagsFromString(DEFAULT_OF_CACHED_OPTIONS);
  setFlagsFromString('--no-lazy');
  const script = compileProgram(filename, source);
  setFlagsFromString('--lazy');
  return [[], [CACHED_OPTIONS]].map((options) => {
    // V8 records the options in the cache, and accepts it only from a process that has the same.
    for (const option of options) setFlagsFromString(option);
    const data = script.createCachedData();
    if (options.length > 0) setFlagsFromString(DEFAULT_OF_CACHED_OPTIONS);
    const file = cacheFile(folder, name, options);
    writeFileSync(file, packCache(source, data));
    return file;
  });
}

/** 0 stands for V8's own choice. */
const DEFAULT_OF_CACHED_OPTIONS = '--max-semi-space-size=0';
