import { pack, unpack } from '../../kernel/pack.ts';
import { PREVIOUS_SECRETS_MAX, type PreviousSecret, type Webhook, type WebhookSecrets } from '../../work/webhook.ts';
import { decrypt, encrypt } from '../../kernel/encryption.ts';

/** The signing secrets of webhooks, encrypted with a key from `deriveKey`. Changes and rows hold only the encrypted bytes. */

type Owner = Pick<Webhook, 'customer' | 'id'>;

/** Returns the replaced secret and the earlier ones that are still valid. */
export function previousOf(
  { current, previous }: WebhookSecrets,
  untilMs: number,
  nowMs: number,
): readonly PreviousSecret[] {
  const counting = previous.filter((one) => nowMs < one.untilMs);
  return [{ secret: current, untilMs }, ...counting].slice(0, PREVIOUS_SECRETS_MAX);
}

/**
 * Encrypts the current secret, then each previous one and its end, newest first; without any, `null` for both, as older versions wrote it.
 */
export function encryptSecrets(key: Uint8Array, owner: Owner, { current, previous }: WebhookSecrets): Buffer {
  const pairs = previous.length === 0 ? [null, null] : previous.flatMap(({ secret, untilMs }) => [secret, untilMs]);
  return encrypt(key, pack([current, ...pairs]), contextOf(owner));
}

export function decryptSecrets(key: Uint8Array, owner: Owner, sealed: Uint8Array): WebhookSecrets | null {
  const plain = decrypt(key, sealed, contextOf(owner));
  if (plain === null) return null;
  const [current, ...pairs] = unpack(plain);
  const previous: PreviousSecret[] = [];
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const [secret, untilMs] = pairs.slice(at, at + 2);
    if (typeof secret === 'string' && typeof untilMs === 'number') previous.push({ secret, untilMs });
  }
  return { current: String(current), previous };
}

function contextOf({ customer, id }: Owner): string {
  return `webhook/${customer}/${id}`;
}
