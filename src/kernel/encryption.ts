import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts data that must be read back (webhook secrets, session cookies) with AES-256-GCM: one byte of version, a random nonce of 12, the
 * ciphertext, the tag of 16. `context` identifies the owner, for example `webhook/7/wh_…`. It is authenticated as well, so an encrypted
 * value that is moved to another row cannot be decrypted there. `key` comes from `deriveKey`.
 */
export function encrypt(key: Uint8Array, plain: Uint8Array, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(Buffer.from(context));
  return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Returns `null` for another key, another context, or data not made by `encrypt`. */
export function decrypt(key: Uint8Array, sealed: Uint8Array, context: string): Buffer | null {
  if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== VERSION) return null;
  const end = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, 1 + NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(end));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(1 + NONCE_BYTES, end)), decipher.final()]);
  } catch {
    return null;
  }
}
