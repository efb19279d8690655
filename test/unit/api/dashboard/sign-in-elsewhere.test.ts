import { describe, expect, test } from 'vitest';
import { DashboardAccess } from '../../../../src/api/dashboard/dashboard-access.ts';
import { signInHandlers, type SignInParts } from '../../../../src/api/dashboard/sign-in-handlers.ts';
import { SignInCodes } from '../../../../src/auth/sign-in-codes.ts';
import { FailedAuthentications } from '../../../../src/decide/failed-authentications.ts';
import type { Exchange, RequestHead } from '../../../../src/http/exchange.ts';
import { RATE_FAILED_AUTHENTICATIONS } from '../../../../src/kernel/limits.ts';

/** Sign-in codes that this node does not have, of which it asks the others. */

interface Answered {
  readonly status: number;
  readonly code: string;
}

function signInWith(
  redeemed: (codeHash: string) => Promise<string | null>,
): (code: string, address?: string) => Promise<Answered> {
  const access = new DashboardAccess({
    guard: { isOwn: () => true, isForeign: () => false },
    failures: new FailedAuthentications(),
    nowSeconds: () => 1_000,
    nowMs: () => 1_000_000,
    onRefused() {},
  } as unknown as ConstructorParameters<typeof DashboardAccess>[0]);
  const parts = {
    access,
    codes: new SignInCodes(),
    share: { redeemed },
    keyCache: { findSecret: () => null },
    nowMs: () => 1_000_000,
  } as unknown as SignInParts;
  const { signIn } = signInHandlers(parts);
  return (code, address = '203.0.113.9') =>
    new Promise((resolve) => {
      const exchange: Partial<Exchange> = {
        remoteAddress: () => address,
        peerAddress: () => address,
        readBody: (_most, done) => done(Buffer.from(JSON.stringify({ code }))),
        send: (status, _fields, body) =>
          resolve({ status, code: (JSON.parse(String(body)) as { readonly code: string }).code }),
      };
      signIn({ contentType: 'application/json', contentLength: 60 } as RequestHead, exchange as Exchange);
    });
}

const code = (n: number): string => String(n).padStart(43, 'c');

describe('sign-in codes of other nodes', () => {
  test('A text that is no code, and a source with too many failures, ask no node', async () => {
    let asked = 0;
    const signIn = signInWith(() => {
      asked++;
      return Promise.resolve(null);
    });
    expect(await signIn('short')).toEqual({ status: 401, code: 'invalid_code' });
    expect(asked).toBe(0);
    const answers: Answered[] = [];
    for (let n = 0; n < RATE_FAILED_AUTHENTICATIONS + 20; n++) answers.push(await signIn(code(n)));
    expect(asked).toBe(RATE_FAILED_AUTHENTICATIONS - 1);
    expect(answers.at(-1)).toEqual({ status: 429, code: 'rate_limited' });
    await signIn(code(1), '203.0.113.10');
    expect(asked).toBe(RATE_FAILED_AUTHENTICATIONS);
  });

  test('Of many codes at the same time four are asked for, whatever their sources', async () => {
    const answers: (() => void)[] = [];
    const signIn = signInWith(() => new Promise((resolve) => answers.push(() => resolve(null))));
    const results = Array.from({ length: 10 }, (_none, n) => signIn(code(n), `203.0.113.${n}`));
    expect(answers).toHaveLength(4);
    expect(await results[9]).toEqual({ status: 429, code: 'overloaded' });
    for (const answer of answers) answer();
    expect(await results[0]).toEqual({ status: 401, code: 'invalid_code' });
    void signIn(code(11));
    expect(answers).toHaveLength(5);
  });
});
