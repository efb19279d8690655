import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { CollectorScripts } from '../api/script-handlers.ts';
import type { StaticContent } from '../http/static-files.ts';

const NAME = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/);
const FILE = z.object({ file: NAME, integrity: z.string() });
const MANIFEST = z.object({
  /** Part of a path. */
  version: z.string().regex(/^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/),
  files: z.object({ classic: FILE, esm: FILE }),
});

export type FoundScripts =
  | { readonly kind: 'found'; readonly scripts: CollectorScripts }
  | { readonly kind: 'missing'; readonly detail: string };

/**
 * Reads the manifest that the build of the collector script leaves in its folder: `{"version","files":{"classic":{"file","integrity"},
 * "esm":{…}}}`, each file with a `.br` and a `.gz` beside it. The files are read here too, so that none is missing at a later request.
 */
export function findCollectorScripts(folder: URL): FoundScripts {
  const read = (name: string): Buffer => readFileSync(new URL(name, folder));
  try {
    const { version, files } = MANIFEST.parse(JSON.parse(read('manifest.json').toString('utf8')));
    const content = ({ file }: z.infer<typeof FILE>): StaticContent => {
      return { identity: read(file), br: read(`${file}.br`), gzip: read(`${file}.gz`) };
    };
    const classic = content(files.classic);
    const esm = content(files.esm);
    return { kind: 'found', scripts: { version, classic: () => classic, esm: () => esm } };
  } catch (error) {
    return { kind: 'missing', detail: error instanceof Error ? error.message : String(error) };
  }
}
