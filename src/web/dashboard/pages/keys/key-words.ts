import type { ApiKeyRow } from '../../../../contract/wire-types.ts';
import { countOf, formatAgo, formatCount } from '../../format.ts';

/** Keys, their states and their scopes in words. */

export type KeyScopeName = ApiKeyRow['scopes'][number];

export const SCOPE_WORDS: Readonly<Record<KeyScopeName, string>> = {
  gate: 'Gate: answers a proxy in front of your site',
  decide: 'Decide: asks for decisions and reports outcomes',
  read: 'Read: reads everything, and signs in to this dashboard',
  write: 'Write: changes lists, rules, webhooks and labels',
  admin: 'Admin: makes, replaces and revokes keys',
};

export interface KeyState {
  readonly kind: 'valid' | 'ending' | 'rotating' | 'expired' | 'revoked';
  readonly tone: 'good' | 'warn' | 'bad';
  readonly word: string;
  /** Unix seconds that the word is about; null for a key without an end. */
  readonly at: number | null;
}

const DAY_SECONDS = 86_400;
/** Choice: two weeks are enough to bring a new key to every server. */
const ENDING_SECONDS = 14 * DAY_SECONDS;

/** `now` in Unix seconds. */
export function keyStateOf(
  {
    revoked_at: revokedAt,
    expires_at: expiresAt,
    replaced_by: replacedBy,
  }: Pick<ApiKeyRow, 'revoked_at' | 'expires_at' | 'replaced_by'>,
  now: number,
): KeyState {
  if (revokedAt !== null) return { kind: 'revoked', tone: 'bad', word: 'Revoked', at: revokedAt };
  if (expiresAt === null) return { kind: 'valid', tone: 'good', word: 'Valid', at: null };
  if (expiresAt <= now) return { kind: 'expired', tone: 'bad', word: 'Expired', at: expiresAt };
  if (replacedBy !== null) return { kind: 'rotating', tone: 'warn', word: 'Rotating until', at: expiresAt };
  const rest = expiresAt - now;
  if (rest > ENDING_SECONDS) return { kind: 'valid', tone: 'good', word: 'Valid', at: expiresAt };
  const time = rest < DAY_SECONDS ? formatAgo(expiresAt, now) : `in ${countOf(Math.floor(rest / DAY_SECONDS), 'day')}`;
  return { kind: 'ending', tone: 'warn', word: `Expires ${time}`, at: expiresAt };
}

export function isKeyUsable({ kind }: KeyState): boolean {
  return kind !== 'revoked' && kind !== 'expired';
}

const STOPS: Readonly<Record<KeyScopeName, string>> = {
  gate: 'A proxy that asks the gate with it lets every visitor through.',
  decide: 'Decide calls with it are refused: your shop goes on without decisions.',
  read: 'Programs that read with it are refused, and dashboard sessions that signed in with it end.',
  write: 'Programs that change lists, rules, webhooks or labels with it are refused.',
  admin: 'It makes no more keys. Those that it has made stay.',
};

/** Returns what no longer works without the key, one sentence each. `keys`: all keys of the customer. `now` in Unix seconds. */
export function stopsWithout(key: ApiKeyRow, keys: readonly ApiKeyRow[], now: number): readonly string[] {
  const { calls, last_used_at: lastUsed } = key.usage;
  const use =
    lastUsed === null
      ? 'It was not used since the server started.'
      : `It was last used ${formatAgo(lastUsed, now)}; ${countOf(calls, 'call')} in the last 24 hours at most.`;
  if (key.kind === 'public') {
    const sites = key.origins.length === 0 ? 'no web page' : countOf(key.origins.length, 'origin');
    return [use, `Pages and apps that present it get no decisions and no collector tokens. It allows ${sites}.`];
  }
  const others = keys.filter((one) => one !== key && one.kind === 'secret' && isKeyUsable(keyStateOf(one, now)));
  const lost = key.scopes.filter((scope) => !others.some(({ scopes }) => scopes.includes(scope)));
  return [
    use,
    ...key.scopes.map((scope) => STOPS[scope]),
    ...(key.scopes.includes('decide') ? ['Its public key stays valid: revoke that by itself.'] : []),
    ...(lost.length > 0
      ? [`No other valid key has ${lost.join(', ')}: then only the command line can make one that has.`]
      : []),
  ];
}

/** Returns networks from a text, separated by commas, spaces or lines. */
export function readNetworks(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((one) => one !== ''))];
}

/** Returns the end of a day such as `2026-12-31` in the browser's zone, Unix seconds; null for another text. */
export function endOfDay(day: string): number | null {
  const ms = Date.parse(`${day}T23:59:59`);
  return Number.isFinite(ms) ? Math.floor(ms / 1_000) : null;
}

/** `12,400 calls`, `–` for none. */
export function callsWords(calls: number): string {
  return calls === 0 ? '–' : formatCount(calls);
}
