import { describe, expect, test } from 'vitest';
import { keyLookUp } from '../../../src/data/key-look-up.ts';
import type { EgressOutcome, EgressRequest } from '../../../src/egress/egress-outcome.ts';
import { createTextMemory, SharedText } from '../../../src/kernel/shared-text.ts';
import { readDirectories } from '../../../src/risk/signals/signer-keys.ts';

const NOW = 1_800_000_000;
const X = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
const DIRECTORY = JSON.stringify({ keys: [{ kty: 'OKP', crv: 'Ed25519', x: X, use: 'sig', nbf: 5, exp: NOW + 60 }] });

function found(status: number, body: string): EgressOutcome {
  return { kind: 'response', status, headers: {}, body: Buffer.from(body), durationMs: 1 } as unknown as EgressOutcome;
}

const DOWN: EgressOutcome = {
  kind: 'failed',
  error: 'connect_failed',
  detail: '',
  durationMs: 1,
} as unknown as EgressOutcome;

function looking(bytesMax = 65_536) {
  const text = new SharedText(createTextMemory(bytesMax));
  const asked: EgressRequest[] = [];
  let next: EgressOutcome = DOWN;
  const request = (one: EgressRequest): Promise<EgressOutcome> => {
    asked.push(one);
    return Promise.resolve(next);
  };
  const lookUp = keyLookUp({ request }, text, 'Test/1', () => NOW);
  return {
    asked,
    keys: () => readDirectories(text.read()?.text ?? ''),
    answer: (outcome: EgressOutcome, host = 'chatgpt.com') => {
      next = outcome;
      return lookUp(host);
    },
  };
}

describe('key directories of signers', () => {
  test('The directory of a host of the manifest is fetched, and its keys reach the threads that score', async () => {
    const { answer, asked, keys } = looking();
    expect(await answer(found(200, DIRECTORY))).toMatchObject({ name: 'fetched', keepSeconds: 3_600 });
    expect(asked.map(({ url }) => url)).toEqual(['https://chatgpt.com/.well-known/http-message-signatures-directory']);
    // Source: RFC 8037, A.3.
    const id = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';
    expect(keys()).toEqual([
      { host: 'chatgpt.com', fetchedAtSeconds: NOW, keys: [{ id, x: X, from: 5, until: NOW + 60 }] },
    ]);
  });

  test.each([
    ['is down', DOWN],
    ['redirects', found(302, '')],
    ['serves a page', found(200, '<html>')],
    ['serves a list', found(200, '[]')],
    ['serves more keys than anybody has', found(200, JSON.stringify({ keys: Array.from({ length: 33 }, () => ({})) }))],
  ])('One that %s keeps the keys from before, and is asked again after ten minutes', async (_how, outcome) => {
    const { answer, keys } = looking();
    await answer(found(200, DIRECTORY));
    expect(await answer(outcome)).toMatchObject({ name: 'failed', keepSeconds: 600 });
    expect(keys()).toHaveLength(1);
  });

  test('A directory without the key from before removes it', async () => {
    const { answer, keys } = looking();
    await answer(found(200, DIRECTORY));
    await answer(found(200, '{"keys":[]}'));
    expect(keys()).toMatchObject([{ keys: [] }]);
  });

  test('Keys of other kinds and of a wrong form are left out', async () => {
    const { answer, keys } = looking();
    const wrong = [
      null,
      7,
      { kty: 'RSA' },
      { kty: 'OKP', crv: 'Ed25519', x: 'short' },
      { kty: 'OKP', crv: 'Ed25519', x: X, use: 'enc' },
    ];
    const more = [{ kty: 'OKP', crv: 'Ed25519', x: X, nbf: 'now' }];
    await answer(found(200, JSON.stringify({ keys: [...wrong, ...more] })));
    expect(keys()).toMatchObject([{ keys: [] }]);
  });

  test('No other host is ever asked', async () => {
    const { answer, asked } = looking();
    expect(await answer(found(200, DIRECTORY), 'attacker.example')).toMatchObject({ name: 'failed' });
    expect(asked).toEqual([]);
  });
});
