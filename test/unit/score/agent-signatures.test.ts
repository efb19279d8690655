import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { createLookUpMemory } from '../../../src/kernel/look-up-memory.ts';
import { SharedAnswers } from '../../../src/kernel/shared-answers.ts';
import { SharedText } from '../../../src/kernel/shared-text.ts';
import { type HttpSignature, readBotSignature, signatureBaseOf } from '../../../src/risk/signals/bot-signature.ts';
import { claimedAgent } from '../../../src/risk/signals/claimed-agent.ts';
import { parseKeyDirectory } from '../../../src/risk/signals/signer-keys.ts';
import { parseDictionary } from '../../../src/risk/signals/structured-fields.ts';
import { AgentProver, openProofs } from '../../../src/score/agent-prover.ts';
import { AgentSignatures } from '../../../src/score/agent-signatures.ts';

const NOW = 1_735_689_700;
const CUSTOMER = 1 as CustomerNumber;
const NO_HEADERS: ReadonlyMap<string, string> = new Map();

/** Source: RFC 9421, B.1.4, test-key-ed25519; the private part as a JWK from the vectors of the drafts. */
const RFC_KEY = {
  kty: 'OKP',
  crv: 'Ed25519',
  d: 'n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU',
  x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs',
} as const;
const RFC_KEY_ID = 'poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U';
const RFC_PUBLIC = createPublicKey({ key: { kty: RFC_KEY.kty, crv: RFC_KEY.crv, x: RFC_KEY.x }, format: 'jwk' });

describe('published vectors', () => {
  test('The signature of RFC 9421, B.2.6 verifies over its base', () => {
    const input = parseDictionary(
      'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
    )?.get('sig-b26');
    if (input?.value.kind !== 'list') throw new Error('the input is no list');
    const headers = new Map([
      ['date', 'Tue, 20 Apr 2021 02:07:55 GMT'],
      ['content-type', 'application/json'],
      ['content-length', '18'],
    ]);
    const request = {
      method: 'POST',
      path: '/foo?param=Value&Pet=dog',
      authority: 'example.com',
      signatureAgent: null,
    };
    const base = signatureBaseOf(input.value, input.text, request, headers);
    expect(base).toBe(
      '"date": Tue, 20 Apr 2021 02:07:55 GMT\n"@method": POST\n"@path": /foo\n"@authority": example.com\n' +
        '"content-type": application/json\n"content-length": 18\n' +
        '"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length")' +
        ';created=1618884473;keyid="test-key-ed25519"',
    );
    const signature = 'wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==';
    expect(verify(null, Buffer.from(base ?? ''), RFC_PUBLIC, Buffer.from(signature, 'base64'))).toBe(true);
  });

  /** Source: draft-ietf-webbotauth-httpsig-protocol, E.2.1 (dictionary) and E.2.2 (string). */
  test.each([
    [
      'agent2="https://signature-agent.test"',
      'sig2=("@authority" "signature-agent";key="agent2");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"' +
        ';alg="ed25519";expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="' +
        ';tag="web-bot-auth"',
      'sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:',
    ],
    [
      '"https://signature-agent.test"',
      'sig2=("@authority" "signature-agent");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"' +
        ';alg="ed25519";expires=1735693200;nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg=="' +
        ';tag="web-bot-auth"',
      'sig2=:jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:',
    ],
  ])('The example of the drafts with Signature-Agent: %s verifies', (signatureAgent, signatureInput, signature) => {
    const request = {
      signatureAgent,
      signatureInput,
      signature,
      method: 'GET',
      authority: 'EXAMPLE.com:443',
      path: '/path/to/resource',
    };
    const read = readBotSignature(request, NO_HEADERS, NOW, (host) => host === 'signature-agent.test');
    if (typeof read === 'string') throw new Error(read);
    expect(read).toMatchObject({ host: 'signature-agent.test', keyId: RFC_KEY_ID });
    expect(verify(null, Buffer.from(read.base), RFC_PUBLIC, read.bytes)).toBe(true);
    // A day after it was made it counts for nothing, whatever its expiry.
    expect(readBotSignature(request, NO_HEADERS, 1_735_689_600 + 86_400, () => true)).toBe('expired');
  });

  test('The key of the examples, whose private part is published, is left out of a directory', () => {
    const { kty, crv, x } = RFC_KEY;
    expect(parseKeyDirectory(JSON.stringify({ keys: [{ kty, crv, x, kid: RFC_KEY_ID, use: 'sig' }] }))).toEqual([]);
  });
});

/** Source: a key that this file made; any other seed would do. */
const PRIVATE = keyOf('ab');
const OTHER = keyOf('cd');

function keyOf(byte: string): KeyObject {
  const head = Buffer.from('302e020100300506032b657004220420', 'hex');
  return createPrivateKey({
    key: Buffer.concat([head, Buffer.from(byte.repeat(32), 'hex')]),
    format: 'der',
    type: 'pkcs8',
  });
}

function jwkOf(key: KeyObject): { readonly kty: string; readonly crv: string; readonly x: string } {
  const { kty = '', crv = '', x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return { kty, crv, x };
}

function directoryOf(...keys: readonly object[]): NonNullable<ReturnType<typeof parseKeyDirectory>> {
  const parsed = parseKeyDirectory(JSON.stringify({ keys }));
  if (parsed === null) throw new Error('it is no directory');
  return parsed;
}

const KEY_ID = directoryOf(jwkOf(PRIVATE))[0]?.id ?? '';

interface Made {
  readonly components?: string;
  readonly parameters?: string;
  readonly key?: KeyObject;
  readonly request?: Partial<HttpSignature>;
}

const COMPONENTS = '"@authority" "@method" "@path" "signature-agent"';
const AGENT = '"https://chatgpt.com"';

/** Returns a request signed like one of ChatGPT's agent. */
function signed({
  components = COMPONENTS,
  parameters = parametersOf(),
  key = PRIVATE,
  request,
}: Made = {}): HttpSignature {
  const unsigned = { method: 'GET', authority: 'shop.example', path: '/cart?x=1', signatureAgent: AGENT };
  const params = `(${components})${parameters}`;
  const input = parseDictionary(`sig1=${params}`)?.get('sig1');
  const base = input?.value.kind === 'list' ? signatureBaseOf(input.value, params, unsigned, NO_HEADERS) : null;
  const signature = `sig1=:${sign(null, Buffer.from(base ?? ''), key).toString('base64')}:`;
  return { ...unsigned, signatureInput: `sig1=${params}`, signature, ...request };
}

let nonces = 0;
function parametersOf(more: Readonly<Record<string, string>> = {}): string {
  const all = {
    created: String(NOW - 10),
    expires: String(NOW + 300),
    keyid: `"${KEY_ID}"`,
    nonce: `"nonce-${++nonces}"`,
    tag: '"web-bot-auth"',
    ...more,
  };
  return Object.entries(all)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `;${name}=${value}`)
    .join('');
}

function knowing(fetchedAtSeconds = NOW, ...keys: readonly object[]) {
  const memory = createLookUpMemory();
  const directory = { host: 'chatgpt.com', fetchedAtSeconds, keys: directoryOf(jwkOf(PRIVATE), ...keys) };
  new SharedText(memory.keys).write(JSON.stringify([directory]));
  return memory;
}

describe('signatures of agents', () => {
  const check = (request: HttpSignature, memory = knowing()) =>
    new AgentSignatures(memory).check(request, NO_HEADERS, CUSTOMER, NOW);

  test.each([
    ['a string', {}],
    [
      'a dictionary',
      {
        components: '"@authority" "signature-agent";key="a"',
        request: { signatureAgent: `a=${AGENT}, b="https://x.test"` },
      },
    ],
    ['without a nonce', { parameters: parametersOf({ nonce: '' }) }],
    ['with the algorithm', { parameters: parametersOf({ alg: '"ed25519"' }) }],
    ['over the target', { components: '"@target-uri" "@query" "signature-agent"' }],
  ])('A genuine signature is verified: %s', (_form, made: Made) => {
    const agent = made.request?.signatureAgent;
    const request = agent === undefined || agent === null ? signed(made) : resigned(made, agent);
    expect(check(request)).toMatchObject({ kind: 'genuine', signer: { operator: 'openai', purpose: 'ai_user' } });
  });

  /** Signs with another Signature-Agent. */
  function resigned(
    { components = COMPONENTS, parameters = parametersOf() }: Made,
    signatureAgent: string,
  ): HttpSignature {
    const unsigned = { method: 'GET', authority: 'shop.example', path: '/cart?x=1', signatureAgent };
    const params = `(${components})${parameters}`;
    const input = parseDictionary(`sig1=${params}`)?.get('sig1');
    if (input?.value.kind !== 'list') throw new Error('the input is no list');
    const base = signatureBaseOf(input.value, params, unsigned, NO_HEADERS) ?? '';
    const signature = `sig1=:${sign(null, Buffer.from(base), PRIVATE).toString('base64')}:`;
    return { ...unsigned, signatureInput: `sig1=${params}`, signature };
  }

  const good = signed();
  test.each([
    ['of another key', signed({ key: OTHER }), 'forged'],
    ['that expired', signed({ parameters: parametersOf({ expires: String(NOW - 1) }) }), 'expired'],
    ['of yesterday', signed({ parameters: parametersOf({ created: String(NOW - 86_400) }) }), 'expired'],
    ['of the future', signed({ parameters: parametersOf({ created: String(NOW + 120) }) }), 'future'],
    ['without a tag', signed({ parameters: parametersOf({ tag: '' }) }), 'tag'],
    ['with another tag', signed({ parameters: parametersOf({ tag: '"payment"' }) }), 'tag'],
    ['for another host', { ...good, authority: 'other.example' }, 'forged'],
    ['for another path that it covers', { ...good, path: '/checkout' }, 'forged'],
    ['with another method', { ...good, method: 'POST' }, 'forged'],
    [
      'with a changed input',
      { ...good, signatureInput: good.signatureInput.replace(/expires=(\d+)/, `expires=${NOW + 999}`) },
      'forged',
    ],
    ['of an algorithm that is not known', signed({ parameters: parametersOf({ alg: '"hmac-sha256"' }) }), 'algorithm'],
    ['that is oversized', { ...good, signatureInput: good.signatureInput + ' '.repeat(2_048) }, 'oversized'],
    ['whose label comes twice', { ...good, signature: `${good.signature}, ${good.signature}` }, 'malformed'],
    ['that is not base64', { ...good, signature: 'sig1=:*not base64*:' }, 'malformed'],
    ['of 63 bytes', { ...good, signature: `sig1=:${Buffer.alloc(63).toString('base64')}:` }, 'malformed'],
    ['without an expiry', signed({ parameters: parametersOf({ expires: '' }) }), 'parameters'],
    ['with a key id that is no thumbprint', signed({ parameters: parametersOf({ keyid: '"key-1"' }) }), 'parameters'],
    ['that covers no host', signed({ components: '"@method" "signature-agent"' }), 'component'],
    [
      'that covers a component twice',
      signed({ components: '"@authority" "@authority" "signature-agent"' }),
      'component',
    ],
    [
      'that covers a header that was not passed',
      signed({ components: '"@authority" "x-a" "signature-agent"' }),
      'component',
    ],
    [
      'with a host that continues in the next line',
      { ...good, authority: 'shop.example\n"@method": GET' },
      'component',
    ],
    ['that does not cover its signer', signed({ components: '"@authority" "@path"' }), 'agent'],
    ['of a host outside of the manifest', { ...good, signatureAgent: '"https://attacker.example"' }, 'agent'],
    ['of a host with a port', { ...good, signatureAgent: '"https://chatgpt.com:8443"' }, 'agent'],
    ['of another path', { ...good, signatureAgent: '"https://chatgpt.com/jwks.json"' }, 'agent'],
    ['of plain HTTP', { ...good, signatureAgent: '"http://chatgpt.com"' }, 'agent'],
  ])('A signature %s is not verified', (_form, request, fault) => {
    expect(check(request)).toEqual({ kind: 'refused', fault });
  });

  test('A nonce counts once for a customer, in whatever thread', () => {
    const memory = knowing();
    const [one, other] = [new AgentSignatures(memory), new AgentSignatures(memory)];
    const request = signed();
    expect(one.check(request, NO_HEADERS, CUSTOMER, NOW).kind).toBe('genuine');
    expect(other.check(request, NO_HEADERS, CUSTOMER, NOW)).toEqual({ kind: 'refused', fault: 'replayed' });
    expect(other.check(request, NO_HEADERS, 2 as CustomerNumber, NOW).kind).toBe('genuine');
  });

  test('A forged signature does not use up the nonce of a genuine one', () => {
    const memory = knowing();
    const request = signed();
    expect(check({ ...request, path: '/other' }, memory).kind).toBe('refused');
    expect(check(request, memory).kind).toBe('genuine');
  });

  test('A key that is unknown, not valid yet or no more, or older than a day is asked for again', () => {
    const lacks = { kind: 'key', host: 'chatgpt.com' };
    expect(check(signed(), createLookUpMemory())).toEqual(lacks);
    expect(check(signed(), knowing(NOW - 86_401))).toEqual(lacks);
    const withKey = (more: object) => {
      const memory = createLookUpMemory();
      const keys = directoryOf({ ...jwkOf(PRIVATE), ...more });
      new SharedText(memory.keys).write(JSON.stringify([{ host: 'chatgpt.com', fetchedAtSeconds: NOW, keys }]));
      return check(signed(), memory);
    };
    expect(withKey({ nbf: NOW + 1 })).toEqual(lacks);
    expect(withKey({ exp: NOW })).toEqual(lacks);
    expect(withKey({ nbf: NOW, exp: NOW + 1 }).kind).toBe('genuine');
  });

  test('Keys that change are used for the next signature', () => {
    const memory = createLookUpMemory();
    const signatures = new AgentSignatures(memory);
    expect(signatures.check(signed(), NO_HEADERS, CUSTOMER, NOW).kind).toBe('key');
    const text = new SharedText(memory.keys);
    text.write(JSON.stringify([{ host: 'chatgpt.com', fetchedAtSeconds: NOW, keys: directoryOf(jwkOf(PRIVATE)) }]));
    expect(signatures.check(signed(), NO_HEADERS, CUSTOMER, NOW).kind).toBe('genuine');
    text.write(JSON.stringify([{ host: 'chatgpt.com', fetchedAtSeconds: NOW, keys: directoryOf(jwkOf(OTHER)) }]));
    expect(signatures.check(signed(), NO_HEADERS, CUSTOMER, NOW).kind).toBe('key');
  });
});

describe('what a signature proves', () => {
  const prove = (userAgent: string, httpSignature: HttpSignature | null, isReal = true, memory = knowing()) => {
    const claimed = claimedAgent(userAgent);
    const prover = new AgentProver({ crawlersKnown: () => new Set(['openai', 'google']), lookUps: openProofs(memory) });
    const request = { httpSignature, headers: NO_HEADERS };
    const proof = prover.prove({ claimed, ip: null, geo: null, request, customer: CUSTOMER, nowSeconds: NOW, isReal });
    return { proof, asked: new SharedAnswers(memory.answers).take().map(({ question }) => question) };
  };

  test('A browser’s user agent is that of the agent which signed, and the keys are asked for again', () => {
    const { proof, asked } = prove('Mozilla/5.0 Chrome/138.0.0.0', signed());
    expect(proof).toMatchObject({
      name: 'ChatGPT-Agent',
      operator: 'openai',
      purpose: 'ai_user',
      verified: 'signature',
    });
    expect(asked).toEqual(['agent_keys chatgpt.com']);
  });

  test('It verifies the crawler that is named if the operator is the same, and nothing about another operator’s', () => {
    expect(prove('ChatGPT-User/1.0', signed()).proof).toMatchObject({ name: 'ChatGPT-User', verified: 'signature' });
    expect(prove('Googlebot/2.1', signed()).proof).toBeNull();
  });

  test('Without keys, and for a forged signature, nothing is known', () => {
    expect(prove('Mozilla/5.0', signed(), true, createLookUpMemory())).toEqual({
      proof: null,
      asked: ['agent_keys chatgpt.com'],
    });
    expect(prove('Mozilla/5.0', signed({ key: OTHER }))).toEqual({ proof: null, asked: [] });
  });

  test('A simulation and a request of a public key verify nothing and ask nothing', () => {
    expect(prove('Mozilla/5.0', signed(), false)).toEqual({ proof: null, asked: [] });
  });
});
