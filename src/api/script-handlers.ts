import { problem } from '../contract/problem.ts';
import type { Handler } from '../http/exchange.ts';
import type { Handlers } from '../http/handlers.ts';
import { sendProblem } from '../http/reply.ts';
import { type StaticContent, staticFile } from '../http/static-files.ts';

/** The collector script as the build left it, in both forms. */
export interface CollectorScripts {
  readonly version: string;
  readonly classic: () => StaticContent;
  readonly esm: () => StaticContent;
}

/** Every page may load the scripts, and check their integrity. */
const FOR_ALL_PAGES = '\r\nAccess-Control-Allow-Origin: *\r\nCross-Origin-Resource-Policy: cross-origin';
/** Choice: pages get a new version within an hour. */
const HOUR = 'public, max-age=3600';

/**
 * Returns the handlers of the collector script: the newest version at `/v1/collector.js` and `.mjs`, and this version at a path of its own.
 * Without a script, which `scripts` being null says, they respond 404. Source: contract, 17.1.
 */
export function scriptHandlers(
  scripts: CollectorScripts | null,
  onRefused: (code: string) => void,
): Handlers<'collectorScript' | 'collectorModule' | 'collectorVersion'> {
  const missing: Handler = (_head, exchange) => {
    onRefused('not_found');
    sendProblem(exchange, problem('not_found', 'There is no collector script at this path.'));
  };
  if (scripts === null) return { collectorScript: missing, collectorModule: missing, collectorVersion: missing };
  const { version, classic, esm } = scripts;
  const versions = new Map([
    [`${version}.js`, file(classic, true)],
    [`${version}.mjs`, file(esm, true)],
  ]);
  return {
    collectorScript: file(classic, false),
    collectorModule: file(esm, false),
    collectorVersion: (head, exchange) => (versions.get(head.params['file'] ?? '') ?? missing)(head, exchange),
  };
}

function file(load: () => StaticContent, isImmutable: boolean): Handler {
  return staticFile({
    contentType: 'text/javascript; charset=utf-8',
    isImmutable,
    load,
    cacheControl: HOUR,
    fields: FOR_ALL_PAGES,
  });
}
