import { describe, expect, test } from 'vitest';
import { gateBodyOf, readGateVisit } from '../../../src/decide/gate/gate-visit.ts';
import type { RequestHead } from '../../../src/http/exchange.ts';
import { ColdHeaders } from '../../../src/kernel/cold-headers.ts';

const FORWARDED = {
  'x-forwarded-method': 'get',
  'x-forwarded-host': 'shop.example',
  'x-forwarded-proto': 'https',
  'x-forwarded-uri': '/cart?x=1',
};
const SIGNED = {
  'signature-input': 'sig1=("@authority");tag="web-bot-auth"',
  signature: 'sig1=:AA==:',
  'signature-agent': '"https://chatgpt.com"',
};

function bodyOf(headers: Readonly<Record<string, string>>, isTrusted = true): Record<string, unknown> {
  const head = { cold: new ColdHeaders(Object.entries(headers).flat()) } as unknown as RequestHead;
  const visit = readGateVisit(head, { remoteAddress: () => '192.0.2.1' }, isTrusted);
  return JSON.parse(gateBodyOf(visit, 'gate', 'token').toString()) as Record<string, unknown>;
}

describe('the visit of a visitor that signs its requests', () => {
  test('The signature is passed with host, path and method of the trusted proxy', () => {
    expect(bodyOf({ ...FORWARDED, ...SIGNED })['http_signature']).toEqual({
      signature_input: SIGNED['signature-input'],
      signature: SIGNED.signature,
      signature_agent: SIGNED['signature-agent'],
      method: 'GET',
      authority: 'shop.example',
      path: '/cart?x=1',
    });
  });

  test.each([
    ['is not signed', FORWARDED, true],
    ['comes from a proxy that names no host', { ...FORWARDED, ...SIGNED, 'x-forwarded-host': '' }, true],
    ['comes from a peer that is not trusted', { ...FORWARDED, ...SIGNED }, false],
    ['has two targets', { ...FORWARDED, ...SIGNED, 'x-original-uri': '/other' }, true],
  ])('Nothing is passed for a request that %s', (_how, headers, isTrusted) => {
    expect(bodyOf(headers, isTrusted)).not.toHaveProperty('http_signature');
  });
});
