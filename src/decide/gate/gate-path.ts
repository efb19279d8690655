import type { GateSettings } from '../../risk/policy/gate-settings.ts';

/** The path of a visitor's request, as a site's own server would understand it. */
export interface GatePath {
  readonly text: string;
  /** false if the path was written in another way: another server may understand it otherwise, so it is never exempt. */
  readonly isPlain: boolean;
}

/** Reads the target of a request: percent-decoded once, without dot segments, repeated slashes, parameters and query. */
export function readGatePath(target: string): GatePath | null {
  const [raw = ''] = target.split(/[?#]/, 1);
  if (!raw.startsWith('/')) return null;
  const segments: string[] = [];
  for (const part of decoded(raw).replaceAll('\\', '/').split('/')) {
    const [segment = ''] = part.split(';', 1);
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  const text = `/${segments.join('/')}`;
  return { text, isPlain: raw === text || raw === `${text}/` };
}

/** Returns whether the request must never be held. */
export function isExempt({ text, isPlain }: GatePath, { exempt, challengeUrl }: GateSettings): boolean {
  if (!isPlain) return false;
  return text === pathOf(challengeUrl) || exempt.some((pattern) => matches(pattern, text));
}

/** Returns the event type of a request: the most specific entry of the table, `gate` without any. */
export function gateEventType(method: string, { text }: GatePath, { paths }: GateSettings): string {
  let best = { length: -1, eventType: 'gate' };
  for (const [entry, eventType] of Object.entries(paths)) {
    const [first = '', second] = entry.split(' ', 2);
    const pattern = second ?? first;
    if (second !== undefined && first !== method) continue;
    // An exact path counts more than a prefix, and an entry with a method more than one without.
    const length = 4 * pattern.length + (pattern.endsWith('*') ? 0 : 2) + (second === undefined ? 0 : 1);
    if (length > best.length && matches(pattern, text)) best = { length, eventType };
  }
  return best.eventType;
}

function matches(pattern: string, path: string): boolean {
  if (!pattern.endsWith('*')) return path === pattern;
  const prefix = pattern.slice(0, -1);
  return path.startsWith(prefix) || `${path}/` === prefix;
}

/** The page of the challenge itself must not be held. */
function pathOf(url: string | null): string | null {
  if (url === null) return null;
  return readGatePath(withoutOrigin(url))?.text ?? null;
}

/** Returns path and query of a URL; a path as it is. */
export function withoutOrigin(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '');
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
