import type { JsonObject } from '../../base/connector.ts';
import { registrableDomain } from '../../../kernel/registrable-domain.ts';
import { contentFormsOf, type ContentForm } from '../../read/content-forms.ts';
import { linkAddressOf, type WebAddress } from '../../read/urls.ts';
import { PAGE_URL_CHARACTERS_MAX } from './page-address.ts';

/** Defines which pages of a site are wanted. Part of every step, so it is small. */
export interface Scope extends JsonObject {
  /** The host without `www.`, or the registrable domain with `subdomains`. Includes the port if it is not the default. */
  readonly site: string;
  readonly subdomains: boolean;
  /** Wanted paths begin with this. */
  readonly prefix: string;
  /** If there are any, one of these must match. */
  readonly include: readonly string[];
  /** None of these may match. */
  readonly exclude: readonly string[];
  /** Forms of the pages' content that are wanted, if the input names them. */
  readonly content?: readonly ContentForm[];
  /** Set if links are followed to the default depth: what is deeper is reported. */
  readonly hasDefaultDepth?: true;
}

/** Choice: matches names within a path. Files that are not pages are not fetched in a crawl. */
const FILES =
  /\.(?:7z|avi|bin|bmp|css|dmg|docx?|eot|epub|exe|gif|gz|ico|iso|jpe?g|js|m4a|m4v|mov|mp3|mp4|mpe?g|msi|ods|odt|ogg|otf|pdf|png|pptx?|rar|rpm|svg|tar|tgz|tiff?|ttf|wav|webm|webp|woff2?|xlsx?|zip)$/i;

/** Returns the scope of a crawl that starts at this URL, with the options of its input. `whole`: not limited to the folder of the URL. */
export function scopeOf(url: string, input: JsonObject, whole: boolean): Scope {
  const subdomains = input['subdomains'] === true;
  const prefix = input['path_prefix'];
  return {
    site: siteOf(linkAddressOf(url), subdomains),
    subdomains,
    prefix: typeof prefix === 'string' ? prefix : whole ? '/' : folderOf(url),
    include: textsOf(input['include']),
    exclude: textsOf(input['exclude']),
    ...(input['content'] !== undefined && { content: contentFormsOf(input['content']) }),
  };
}

/** Applies a scope to the URL to which the start page redirected: another site, or another folder of the same site. */
export function movedScope(scope: Scope, from: string, to: string): Scope {
  if (to.length > PAGE_URL_CHARACTERS_MAX) return scope;
  const address = linkAddressOf(to);
  const isInside = address.pathname.startsWith(scope.prefix);
  const prefix = scope.prefix === folderOf(from) && !isInside ? folderOf(to) : scope.prefix;
  return { ...scope, site: siteOf(address, scope.subdomains), prefix };
}

function siteOf({ hostname, port }: WebAddress, subdomains: boolean): string {
  const host = subdomains ? (registrableDomain(hostname) ?? hostname) : hostname.replace(/^www\./, '');
  return port === '' ? host : `${host}:${port}`;
}

/** Returns the folder of a page: `/docs/` for `/docs/intro` and for `/docs/`. */
function folderOf(url: string): string {
  const { pathname } = new URL(url);
  return pathname.slice(0, pathname.lastIndexOf('/') + 1);
}

function textsOf(value: JsonObject[string] | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item: unknown) => typeof item === 'string') : [];
}

/** Returns whether a page is wanted. Expects an absolute URL. */
export function isWanted(url: string, scope: Scope): boolean {
  return url.length <= PAGE_URL_CHARACTERS_MAX && isWantedAddress(linkAddressOf(url), scope);
}

/** Returns whether it is a page of the site at all, ignoring prefix and patterns. */
export function isOfWholeSite(url: string, scope: Scope): boolean {
  return isWanted(url, { ...scope, prefix: '/', include: [], exclude: [] });
}

export function isWantedAddress(address: WebAddress, scope: Scope): boolean {
  const { pathname, search } = address;
  if (!isWithin(address, scope)) return false;
  const path = pathname + search;
  const isIncluded = scope.include.length === 0 || scope.include.some((pattern) => fits(path, pattern));
  return isIncluded && !scope.exclude.some((pattern) => fits(path, pattern));
}

/**
 * Returns whether to follow links to this page to find pages of the same site. The page itself need not be wanted, because it may lead to
 * wanted ones.
 */
export function isOfSite(address: WebAddress, scope: Scope): boolean {
  const { pathname, search } = address;
  if (!isWithin(address, scope) || FILES.test(pathname) || isTrap(pathname)) return false;
  return !scope.exclude.some((pattern) => fits(pathname + search, pattern));
}

function isWithin(address: WebAddress, { site, subdomains, prefix }: Scope): boolean {
  if (address.href.length > PAGE_URL_CHARACTERS_MAX || !address.pathname.startsWith(prefix)) return false;
  return siteOf(address, subdomains) === site;
}

/** Choice: a name that occurs more often in one path belongs to a link that leads deeper into itself forever. */
const SAME_NAMES_MAX = 3;

function isTrap(pathname: string): boolean {
  const names = pathname.split('/').filter(Boolean);
  if (names.length <= SAME_NAMES_MAX) return false;
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts.values()].some((count) => count > SAME_NAMES_MAX);
}

/** A pattern with `*`, which stands for any characters, matches a whole path; a pattern without it matches a prefix. */
export function fits(path: string, pattern: string): boolean {
  const parts = pattern.split('*');
  const [first = '', ...rest] = parts;
  if (!path.startsWith(first)) return false;
  const last = rest.pop();
  if (last === undefined) return true;
  let at = first.length;
  for (const part of rest) {
    const found = path.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return path.length - last.length >= at && path.endsWith(last);
}
