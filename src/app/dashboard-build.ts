import { existsSync, readFileSync } from 'node:fs';
import * as z from 'zod';
import type { SiteAsset, SiteBuild } from '../http/site-pages.ts';
import type { Log } from '../observe/log.ts';

/** Names in the folder of the build; no path leads out of it. */
const FILE = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$/);
/** Written to the response as it is. */
const TYPE = z.string().regex(/^[a-z]+\/[a-z0-9.+-]+(?:; charset=utf-8)?$/);
const MANIFEST = z.object({ index: FILE, assets: z.array(z.object({ file: FILE, type: TYPE })).max(1_000) });

/**
 * Reads the pages that the build left in `folder`: `manifest.json`, the page, and each asset with its compressed forms beside it. Returns
 * null if the build has none, which it logs once. Assets are read when they are first asked for.
 */
export function dashboardBuild(folder: URL, log: Log): () => SiteBuild | null {
  let isReported = false;
  const read = (file: string): Buffer => readFileSync(new URL(file, folder));
  const readIfPresent = (file: string): Buffer | null => (existsSync(new URL(file, folder)) ? read(file) : null);
  return () => {
    try {
      const manifest = MANIFEST.parse(JSON.parse(read('manifest.json').toString('utf8')));
      const assets = manifest.assets.map(({ file, type }): SiteAsset => {
        const load = () => ({
          identity: read(file),
          br: readIfPresent(`${file}.br`),
          gzip: readIfPresent(`${file}.gz`),
        });
        return { file, contentType: type, load };
      });
      return { index: read(manifest.index).toString('utf8'), assets };
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      if (!isReported) log.warn({ detail }, 'the pages of the dashboard cannot be read; npm run build makes them');
      isReported = true;
      return null;
    }
  };
}
