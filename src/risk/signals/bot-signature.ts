import {
  type DictionaryMember,
  type FieldItem,
  type InnerList,
  parseDictionary,
  parseItem,
} from './structured-fields.ts';

/** What the caller passes of a visitor's signed request. Source: contract, 4.9. */
export interface HttpSignature {
  readonly signatureInput: string;
  readonly signature: string;
  readonly signatureAgent: string | null;
  readonly method: string | null;
  /** The host that the caller serves, with a port that is not the default one. */
  readonly authority: string | null;
  /** With the query. */
  readonly path: string | null;
}

/** A signature that is well-formed, current and of a known signer. Only its key says whether it is genuine. */
export interface BotSignature {
  /** The host of the signer's key directory. */
  readonly host: string;
  /** Thumbprint of the key. */
  readonly keyId: string;
  /** `''` without one. */
  readonly nonce: string;
  /** Unix seconds; at most `LIFE_SECONDS_MAX` after it was made. */
  readonly expiresAtSeconds: number;
  /** What was signed. */
  readonly base: string;
  /** 64 bytes. */
  readonly bytes: Buffer;
}

/** Why a signature proves nothing. `agent`: it covers no signer that is known; `component`: it covers what the caller did not pass. */
export type SignatureFault =
  | 'oversized'
  | 'malformed'
  | 'tag'
  | 'parameters'
  | 'algorithm'
  | 'expired'
  | 'future'
  | 'component'
  | 'agent';

export const SIGNATURE_INPUT_CHARACTERS_MAX = 2_048;
export const SIGNATURE_CHARACTERS_MAX = 1_024;
export const SIGNATURE_AGENT_CHARACTERS_MAX = 512;
const METHOD_CHARACTERS_MAX = 32;
const AUTHORITY_CHARACTERS_MAX = 260;
const PATH_CHARACTERS_MAX = 4_096;
/** Choice: a request through a chain of agents has few of them. */
const LABELS_MAX = 4;
const COMPONENTS_MAX = 16;
const NONCE_CHARACTERS_MAX = 256;
/** Choice: the clocks of signers differ by seconds. */
const CLOCK_SECONDS = 60;
/** Source: draft-ietf-webbotauth-httpsig-protocol, 5.2: an expiry of no more than 24 hours is recommended. */
export const LIFE_SECONDS_MAX = 86_400;
const SIGNATURE_BYTES = 64;
const TAG = 'web-bot-auth';
const ALGORITHM = 'ed25519';
export const DIRECTORY_PATH = '/.well-known/http-message-signatures-directory';
const AGENT = 'signature-agent';

/**
 * Reads the signature of Web Bot Auth in a request and what it signs, without verifying it. Pure; bounded by the lengths of the texts.
 * Source: RFC 9421; draft-ietf-webbotauth-httpsig-protocol.
 * @param headers by lower-case name.
 * @param isSigner whether keys of this host may be used.
 */
export function readBotSignature(
  request: HttpSignature,
  headers: ReadonlyMap<string, string>,
  nowSeconds: number,
  isSigner: (host: string) => boolean,
): BotSignature | SignatureFault {
  if (isOversized(request)) return 'oversized';
  const inputs = parseDictionary(request.signatureInput.trim());
  const signatures = parseDictionary(request.signature.trim());
  if (inputs === null || signatures === null || inputs.size > LABELS_MAX) return 'malformed';
  let fault: SignatureFault = 'tag';
  for (const [label, member] of inputs) {
    if (member.value.parameters.get('tag') !== TAG) continue;
    const read = readOne(member, signatures.get(label), { request, headers, nowSeconds, isSigner });
    if (typeof read !== 'string') return read;
    fault = read;
  }
  return fault;
}

interface ReadWith {
  readonly request: HttpSignature;
  readonly headers: ReadonlyMap<string, string>;
  readonly nowSeconds: number;
  readonly isSigner: (host: string) => boolean;
}

function readOne(
  { value: input, text }: DictionaryMember,
  signature: DictionaryMember | undefined,
  { request, headers, nowSeconds, isSigner }: ReadWith,
): BotSignature | SignatureFault {
  const bytes = signature?.value.kind === 'item' ? signature.value.value : null;
  if (input.kind !== 'list' || !Buffer.isBuffer(bytes) || bytes.length !== SIGNATURE_BYTES) return 'malformed';
  const { parameters } = input;
  const [created, expires, keyId] = ['created', 'expires', 'keyid'].map((name) => parameters.get(name));
  const { nonce = '', alg = ALGORITHM } = Object.fromEntries(parameters);
  if (alg !== ALGORITHM) return 'algorithm';
  if (typeof created !== 'number' || typeof expires !== 'number') return 'parameters';
  if (typeof keyId !== 'string' || !/^[\w-]{43}$/.test(keyId)) return 'parameters';
  if (typeof nonce !== 'string' || nonce.length > NONCE_CHARACTERS_MAX) return 'parameters';
  if (created > nowSeconds + CLOCK_SECONDS) return 'future';
  const expiresAtSeconds = Math.min(expires, created + LIFE_SECONDS_MAX);
  if (expiresAtSeconds <= nowSeconds) return 'expired';
  const base = signatureBaseOf(input, text, request, headers);
  if (base === null) return 'component';
  const host = signerOf(input, request);
  if (host === null || !isSigner(host)) return 'agent';
  return { host, keyId, nonce, expiresAtSeconds, base, bytes };
}

function isOversized(request: HttpSignature): boolean {
  const { signatureInput, signature, signatureAgent, method, authority, path } = request;
  return (
    signatureInput.length > SIGNATURE_INPUT_CHARACTERS_MAX ||
    signature.length > SIGNATURE_CHARACTERS_MAX ||
    (signatureAgent?.length ?? 0) > SIGNATURE_AGENT_CHARACTERS_MAX ||
    (method?.length ?? 0) > METHOD_CHARACTERS_MAX ||
    (authority?.length ?? 0) > AUTHORITY_CHARACTERS_MAX ||
    (path?.length ?? 0) > PATH_CHARACTERS_MAX
  );
}

/**
 * Returns the text that is signed, a line for each component; null if a component is not known, comes twice, or has a value that could be
 * read as several lines. The signature must cover the host, so that it cannot be used at another one. Source: RFC 9421, 2.5.
 */
export function signatureBaseOf(
  { items }: InnerList,
  parameters: string,
  request: Omit<HttpSignature, 'signature' | 'signatureInput'>,
  headers: ReadonlyMap<string, string>,
): string | null {
  const lines = new Map<string, string>();
  let hasAuthority = false;
  for (const item of items) {
    const name = item.value;
    if (typeof name !== 'string' || lines.size === COMPONENTS_MAX) return null;
    const value = componentOf(name, item, request, headers);
    // Anything but visible ASCII, spaces and tabs: a line break would begin a component that nobody signed.
    if (value === null || /[^\t -~]/.test(value)) return null;
    const key = item.parameters.get('key');
    const id = typeof key === 'string' ? `"${name}";key="${key}"` : `"${name}"`;
    if (lines.has(id)) return null;
    lines.set(id, value.trim());
    hasAuthority ||= name === '@authority' || name === '@target-uri';
  }
  if (!hasAuthority) return null;
  return [...lines].map(([id, value]) => `${id}: ${value}\n`).join('') + `"@signature-params": ${parameters}`;
}

function componentOf(
  name: string,
  { parameters }: FieldItem,
  { signatureAgent, method, authority, path }: Omit<HttpSignature, 'signature' | 'signatureInput'>,
  headers: ReadonlyMap<string, string>,
): string | null {
  if (parameters.size > 0)
    return name === AGENT && parameters.size === 1 ? agentMember(parameters, signatureAgent) : null;
  const host = authority === null ? null : authority.toLowerCase().replace(/:443$/, '');
  const [pathname = '', ...query] = path === null ? [] : path.split('?');
  switch (name) {
    case '@method':
      return method;
    case '@authority':
      return host;
    case '@path':
      return path === null ? null : pathname || '/';
    case '@query':
      return path === null ? null : `?${query.join('?')}`;
    case '@target-uri':
      return host === null || path === null ? null : `https://${host}${path || '/'}`;
    case AGENT:
      return signatureAgent;
    default:
      return /^[a-z0-9-]+$/.test(name) ? (headers.get(name) ?? null) : null;
  }
}

/** Returns a member of the dictionary form as it was sent. */
function agentMember(parameters: FieldItem['parameters'], signatureAgent: string | null): string | null {
  const key = parameters.get('key');
  if (typeof key !== 'string' || signatureAgent === null) return null;
  const member = parseDictionary(signatureAgent.trim())?.get(key);
  return member?.value.kind === 'item' && member.value.parameters.size === 0 ? member.text : null;
}

/**
 * Returns the host whose keys verify the signature; null if it covers no address of a key directory. Both forms of
 * Signature-Agent count: a String, and a Dictionary of which the signature covers one member.
 */
function signerOf({ items }: InnerList, { signatureAgent }: HttpSignature): string | null {
  const covered = items.filter(({ value }) => value === AGENT);
  const [only] = covered;
  if (signatureAgent === null || only === undefined || covered.length > 1) return null;
  const text = agentMember(only.parameters, signatureAgent) ?? signatureAgent;
  const item = parseItem(text);
  return typeof item?.value === 'string' && item.parameters.size === 0 ? directoryHost(item.value) : null;
}

function directoryHost(address: string): string | null {
  const found = /^https:\/\/([a-z0-9.-]+)(\/.*)?$/.exec(address);
  const [, host = '', path = '/'] = found ?? [];
  return host !== '' && (path === '/' || path === DIRECTORY_PATH) ? host : null;
}
