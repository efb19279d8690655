import { hexDigits } from './hex.ts';

/** Signs requests with WebCrypto, as `signRequest` does with Node.js. Source: contract, 3.4. */
export interface WebSignInput {
  /** Upper case. */
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly timestampSeconds: number;
  readonly requestId: string;
}

/** Not all typings of runtimes have its name. */
type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const encoder = new TextEncoder();

export class WebSigner {
  readonly #key: string;
  #hmacKey: Promise<HmacKey> | null = null;

  constructor(key: string) {
    this.#key = key;
  }

  async sign(input: WebSignInput): Promise<Record<string, string>> {
    const timestamp = String(input.timestampSeconds);
    const bodyHash = hexDigits(new Uint8Array(await sha256(input.body)));
    const text = [input.method, input.path, timestamp, bodyHash, input.requestId].join('\n');
    this.#hmacKey ??= this.#importKey();
    const mac = await crypto.subtle.sign('HMAC', await this.#hmacKey, encoder.encode(text));
    return {
      'X-SVC-Key': this.#key,
      'X-SVC-Ts': timestamp,
      'X-SVC-Rid': input.requestId,
      'X-SVC-Sig': hexDigits(new Uint8Array(mac)),
    };
  }

  async #importKey(): Promise<HmacKey> {
    const bytes = this.#key.startsWith('pk_') ? await sha256(this.#key) : encoder.encode(this.#key);
    return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  }
}

function sha256(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest('SHA-256', encoder.encode(text));
}
