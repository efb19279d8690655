import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { Handler } from '../http/exchange.ts';
import { type StaticContent, staticFile } from '../http/static-files.ts';
import type { Log } from '../observe/log.ts';

/** Names in the folder of the build; no path leads out of it. */
const FILE = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$/);
/** Written to the response as it is. */
const TYPE = z.string().regex(/^[a-z]+\/[a-z0-9.+-]+(?:; charset=utf-8)?$/);
const PATH = z.string().regex(/^\/docs(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$/);
const MANIFEST = z.object({
  files: z.array(z.object({ path: PATH, file: FILE, type: TYPE, isImmutable: z.boolean() })).max(1_000),
});

/**
 * Reads the manifest of the documentation that the build left in `folder`, and returns a handler for each path. Returns null if the build
 * has none, which it logs once. A file is read when it is first asked for, and then kept.
 */
export function docsBuild(folder: URL, log: Log): () => ReadonlyMap<string, Handler> | null {
  let isReported = false;
  const read = (file: string): Buffer => readFileSync(new URL(file, folder));
  return () => {
    try {
      const { files } = MANIFEST.parse(JSON.parse(read('manifest.json').toString('utf8')));
      return new Map(
        files.map(({ path, file, type, isImmutable }) => {
          const load = (): StaticContent => ({ identity: read(file), br: null, gzip: null });
          return [path, staticFile({ contentType: type, isImmutable, load })];
        }),
      );
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      if (!isReported) log.warn({ detail }, 'the documentation cannot be read; npm run build makes it');
      isReported = true;
      return null;
    }
  };
}
