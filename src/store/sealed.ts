import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts what must be read back (webhook secrets, session cookies): one byte of version, a random nonce of 12, the
 * ciphertext, the tag of 16; AES-256-GCM. `context` says whose it is, for example `webhook/7/wh_…`: it is authenticated too, so a
 * sealed value that is moved to another row does not open there. `key` is one of `deriveKey`.
 */
export function seal(key: Uint8Array, plain: Uint8Array, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(Buffer.from(context));
  return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** `null`: another key, another context, or not what `seal` made. */
export function unseal(key: Uint8Array, sealed: Uint8Array, context: string): Buffer | null {
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
