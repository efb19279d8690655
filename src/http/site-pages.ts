import { brotliCompressSync, gzipSync } from 'node:zlib';
import { problem, type Problem } from '../contract/problem.ts';
import type { Exchange, Handler, RequestHead } from './exchange.ts';
import { bodyTooLarge, sendProblem } from './reply.ts';
import { type StaticContent, staticFile } from './static-files.ts';

/** A built site of one page: the page routes by itself, so every path shows it. */
export interface SiteBuild {
  readonly index: string;
  /** The name of a file contains a hash of its content. */
  readonly assets: readonly SiteAsset[];
}

export interface SiteAsset {
  readonly file: string;
  readonly contentType: string;
  /** Called at the first request. */
  readonly load: () => StaticContent;
}

export interface SiteOptions {
  /** The path of the site, without a slash at its end. */
  readonly path: string;
  /** Reads the build, at the first request; null if there is none. */
  readonly build: () => SiteBuild | null;
  /** Returns the theme that a request asks for. */
  readonly themeOf: (head: RequestHead) => PageTheme;
  readonly onRefused: (code: string) => void;
}

export const PAGE_THEMES = ['light', 'dark', 'system'] as const;
export type PageTheme = (typeof PAGE_THEMES)[number];

const THEME_ATTRIBUTE = /(<html\b[^>]*?\sdata-theme=")[^"]*(")/i;

interface Site {
  readonly pages: Readonly<Record<PageTheme, Handler>>;
  readonly assets: ReadonlyMap<string, Handler>;
}

/** Returns the handler of a site's pages and files. Everything is served from memory; no path leads to the file system. */
export function sitePages({ path, build, themeOf, onRefused }: SiteOptions): Handler {
  let site: Site | null = null;
  const assetsPath = `${path}/assets/`;

  return (head, exchange) => {
    const fault = head.lengthFault ?? (head.contentLength > 0 ? bodyTooLarge(0) : head.formFault);
    if (head.method !== 'GET' && head.method !== 'HEAD') refuse(exchange, WRONG_METHOD, head, '\r\nAllow: GET, HEAD');
    else if (fault !== null) refuse(exchange, fault, head);
    else {
      site ??= siteOf(build());
      const handler = site === null ? null : handlerOf(site, head);
      if (handler === null) refuse(exchange, site === null ? NOT_BUILT : NOT_FOUND, head);
      else handler(head, exchange);
    }
  };

  function handlerOf({ pages, assets }: Site, head: RequestHead): Handler | null {
    if (head.path.startsWith(assetsPath)) return assets.get(head.path.slice(assetsPath.length)) ?? null;
    return pages[themeOf(head)];
  }

  function refuse(exchange: Exchange, fault: Problem, head: RequestHead, more = ''): void {
    onRefused(fault.code);
    // A body that nobody reads would precede the next request.
    const close = head.contentLength > 0 || head.lengthFault !== null || head.formFault !== null;
    sendProblem(exchange, fault, { more: `${more}\r\nX-Content-Type-Options: nosniff`, close });
  }
}

const WRONG_METHOD = problem('method_not_allowed', 'This path does not support this method.');
const NOT_FOUND = problem('not_found', 'There is nothing at this path.');
const NOT_BUILT = problem('not_found', 'The pages of the dashboard are not part of this build. Run npm run build.');

function siteOf(build: SiteBuild | null): Site | null {
  if (build === null) return null;
  const assets = build.assets.map(({ file, contentType, load }) => {
    return [file, staticFile({ contentType, isImmutable: true, load })] as const;
  });
  const page = (theme: PageTheme): Handler => {
    const file = staticFile({ ...PAGE, load: () => compressed(withTheme(build.index, theme)) });
    return (head, exchange) => {
      exchange.addFields('\r\nVary: Cookie');
      file(head, exchange);
    };
  };
  return { pages: { light: page('light'), dark: page('dark'), system: page('system') }, assets: new Map(assets) };
}

const PAGE = { contentType: 'text/html; charset=utf-8', isImmutable: false } as const;

/** Sets the theme in the page, because no script may run before the page is shown. */
function withTheme(index: string, theme: PageTheme): string {
  return index.replace(THEME_ATTRIBUTE, `$1${theme}$2`);
}

/** Takes about a millisecond, once for each theme that is asked for. */
function compressed(text: string): StaticContent {
  const identity = Buffer.from(text);
  return { identity, br: brotliCompressSync(identity), gzip: gzipSync(identity) };
}
