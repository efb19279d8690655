import { decrypt, encrypt } from '../../kernel/encryption.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { ExtraHeaders, SealedHeaders, Webhook } from '../../work/webhook.ts';

/**
 * Extra headers of webhooks, encrypted with the key of the secrets. Changes, rows and the audit log hold names and encrypted values
 * only.
 */

type HeadersOwner = Pick<Webhook, 'customer' | 'id'>;

/** Returns null for no headers. Names are kept in lower case, which HTTP does not distinguish. */
export function sealHeaders(key: Uint8Array, owner: HeadersOwner, headers: ExtraHeaders | null): SealedHeaders | null {
  const entries = Object.entries(headers ?? {});
  if (entries.length === 0) return null;
  const sealed = encrypt(key, pack(entries.map(([, value]) => value)), contextOf(owner));
  return { names: entries.map(([name]) => name.toLowerCase()), sealed };
}

/** Returns no headers for null, and null if they were encrypted under another key. */
export function openHeaders(
  key: Uint8Array,
  owner: HeadersOwner,
  stored: SealedHeaders | null | undefined,
): ExtraHeaders | null {
  if (stored === null || stored === undefined) return {};
  const plain = decrypt(key, stored.sealed, contextOf(owner));
  if (plain === null) return null;
  const values = unpack(plain);
  return Object.fromEntries(stored.names.map((name, i) => [name, String(values[i])]));
}

/** Returns whether a webhook's headers would go elsewhere with this URL: to another scheme, host or port. */
export function isOtherHost(before: string, after: string): boolean {
  try {
    return new URL(before).origin !== new URL(after).origin;
  } catch {
    return true;
  }
}

function contextOf({ customer, id }: HeadersOwner): string {
  return `webhook-headers/${customer}/${id}`;
}
