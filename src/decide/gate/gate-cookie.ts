import { hash, randomBytes } from 'node:crypto';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { decrypt, encrypt } from '../../kernel/encryption.ts';
import { GATE_SESSION_SECONDS } from '../../kernel/limits.ts';
import { readAgent } from '../../risk/signals/agent.ts';
import { readIp } from '../../risk/signals/ip.ts';

const NAME = 'gh_gate';
const ID_BYTES = 16;
const BINDING_BYTES = 8;
const EXPIRY_BYTES = 4;
/** The decoder ignores what follows, so the length is part of the form. */
const VALUE = /^[\w-]{76}$/;

/** Who a cookie belongs to. */
export interface GateVisitor {
  readonly customer: CustomerNumber;
  readonly address: string;
  readonly userAgent: string;
}

export interface GateSession {
  /** The session token of the visitor's decisions. */
  readonly token: string;
  /** The header line that sets the cookie, which begins with CRLF; empty if the visitor has it. */
  readonly cookieLine: string;
}

/**
 * Sessions of visitors, in a cookie that only this installation can write: AES-256-GCM over
 *
 *   session id (16 bytes)   end, Unix seconds (4 bytes)   hash of network and class of the user agent (8 bytes)
 *
 * A cookie of another customer, network or class, and one that has expired, counts as none.
 */
export class GateCookies {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** `cookies`: the Cookie header of the visitor. Returns the session of its cookie, else a new one. */
  sessionOf(cookies: string, visitor: GateVisitor, nowSeconds: number, isSecure: boolean): GateSession {
    const binding = bindingOf(visitor);
    const known = this.#read(valueIn(cookies), visitor.customer, binding, nowSeconds);
    if (known !== null) return { token: tokenOf(known), cookieLine: '' };
    const id = randomBytes(ID_BYTES);
    const plain = Buffer.alloc(ID_BYTES + EXPIRY_BYTES + BINDING_BYTES);
    plain.set(id);
    plain.writeUInt32BE(nowSeconds + GATE_SESSION_SECONDS, ID_BYTES);
    plain.set(binding, ID_BYTES + EXPIRY_BYTES);
    const value = encrypt(this.#key, plain, contextOf(visitor.customer)).toString('base64url');
    const attributes = `Path=/; Max-Age=${GATE_SESSION_SECONDS}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
    return { token: tokenOf(id), cookieLine: `\r\nSet-Cookie: ${NAME}=${value}; ${attributes}` };
  }

  #read(value: string, customer: CustomerNumber, binding: Buffer, nowSeconds: number): Buffer | null {
    if (!VALUE.test(value)) return null;
    const plain = decrypt(this.#key, Buffer.from(value, 'base64url'), contextOf(customer));
    if (plain === null || plain.length !== ID_BYTES + EXPIRY_BYTES + BINDING_BYTES) return null;
    const isBound = plain.subarray(ID_BYTES + EXPIRY_BYTES).equals(binding);
    return isBound && nowSeconds < plain.readUInt32BE(ID_BYTES) ? plain.subarray(0, ID_BYTES) : null;
  }
}

function contextOf(customer: CustomerNumber): string {
  return `gate/${customer}`;
}

function tokenOf(id: Buffer): string {
  return `gate.${id.toString('base64url')}`;
}

/** A browser that updates itself stays in its class. */
function bindingOf({ address, userAgent }: GateVisitor): Buffer {
  const ip = readIp(address);
  const network = ip.kind === 'valid' ? ip.networks.site : address;
  const { browser, system, form, bot, httpLibrary } = readAgent(userAgent);
  const text = JSON.stringify([network, browser, system, form, bot, httpLibrary]);
  return hash('sha256', text, 'buffer').subarray(0, BINDING_BYTES);
}

function valueIn(cookies: string): string {
  for (const pair of cookies.split(/[;,]/)) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === NAME) return pair.slice(equals + 1).trim();
  }
  return '';
}
