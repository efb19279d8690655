import { toJsonText } from './page-proof.ts';
import { toHex } from './sha256.ts';

const utf8 = new TextEncoder();

/**
 * Returns the headers of a request that a public key signs. Requires a secure context, as the origins of a public key do.
 * Source: contract, 3.4: the HMAC's secret is the 32 bytes of the SHA-256 of the public key's text.
 */
export async function signatureOf(
  publicKey: string,
  method: string,
  path: string,
  body: Uint8Array<ArrayBuffer>,
): Promise<Record<string, string>> {
  const { subtle } = crypto;
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const requestId = crypto.randomUUID();
  const [bodyHash, secret] = await Promise.all([
    subtle.digest('SHA-256', body),
    subtle.digest('SHA-256', utf8.encode(publicKey)),
  ]);
  const text = [method, path, timestamp, toHex(new Uint8Array(bodyHash)), requestId].join('\n');
  const imported = await subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signature = await subtle.sign('HMAC', imported, utf8.encode(text));
  return {
    'Content-Type': 'application/json',
    'X-SVC-Key': publicKey,
    'X-SVC-Ts': timestamp,
    'X-SVC-Rid': requestId,
    'X-SVC-Sig': toHex(new Uint8Array(signature)),
  };
}

/** Sends a signed POST request to the collector's server and returns the response. Rejects if there is none within `timeoutMs`. */
export async function postSigned(
  { server, publicKey }: { readonly server: string; readonly publicKey: string },
  path: string,
  body: unknown,
  timeoutMs: number,
): Promise<Response> {
  const bytes = utf8.encode(toJsonText(body));
  return post(server + path, await signatureOf(publicKey, 'POST', path, bytes), bytes, timeoutMs);
}

/** The same without a signature. */
export async function post(
  url: string,
  headers: Record<string, string>,
  body: Uint8Array<ArrayBuffer> | null,
  timeoutMs: number,
): Promise<Response> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  try {
    // The page's cookies and address stay with the page: the server needs neither.
    return await fetch(url, {
      method: 'POST',
      headers,
      body,
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      cache: 'no-store',
      signal: controller.signal,
    });
  } finally {
    clearTimeout(timer);
  }
}
