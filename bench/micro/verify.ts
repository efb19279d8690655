import { createHmac, hash } from 'node:crypto';
import type { Clock } from '../../src/kernel/clock.ts';
import { NO_COLD_HEADERS } from '../../src/kernel/cold-headers.ts';
import type { RequestHead } from '../../src/http/exchange.ts';
import { signRequest } from '../../src/client/sign.ts';
import { KeyCache } from '../../src/auth/key-cache.ts';
import { canonicalText, prepareHmacKey, verifyHmac } from '../../src/auth/signature.ts';
import { verifyRequest } from '../../src/auth/verify.ts';
import { NOW_SECONDS, trafficBodies } from './fixtures.ts';
import { keyText, storedKey } from './keys.ts';
import { Ring, type Stage } from './stage.ts';

const SECRET = keyText('sk', 1);
const PUBLIC = keyText('pk', 2);

export const clock: Clock = { nowMs: () => NOW_SECONDS * 1000, observe: () => {}, followsTimestamps: false };

export interface Signed {
  readonly head: RequestHead;
  readonly body: Buffer;
}

export const verify: Stage = {
  name: 'verify',
  add(tasks) {
    const keyCache = new KeyCache();
    keyCache.load([storedKey(SECRET, 1), storedKey(PUBLIC, 2)]);
    const bodies = trafficBodies(64);
    for (const [name, key] of [
      ['secret key', SECRET],
      ['public key', PUBLIC],
    ] as const) {
      const requests = new Ring(bodies.map((body, n) => signed(body, key, n)));
      tasks.add(name, {
        perSample: 64,
        run(n) {
          const { head, body } = requests.at(n);
          return verifyRequest(head, body, keyCache, clock);
        },
        isSane: (outcome) => outcome.kind === 'verified',
      });
    }
    const ring = new Ring(bodies);
    tasks.add('body hash', {
      perSample: 64,
      run: (n) => hash('sha256', ring.at(n), 'hex'),
      isSane: (digest) => digest.length === 64,
    });
    const prepared = prepareHmacKey(Buffer.from(SECRET));
    const texts = new Ring(bodies.map((body, n) => signedText(signed(body, SECRET, n))));
    tasks.add('HMAC over prepared pads', {
      perSample: 64,
      run(n) {
        const { text, signature } = texts.at(n);
        return verifyHmac(prepared, text, signature);
      },
      isSane: (verified) => verified,
    });
    tasks.add('HMAC by createHmac', {
      perSample: 64,
      run(n) {
        const { text, signature } = texts.at(n);
        return createHmac('sha256', SECRET).update(text).digest('hex') === signature;
      },
      isSane: (verified) => verified,
    });
    return {};
  },
};

export function signed(body: Buffer, key: string, n: number): Signed {
  const fields = signRequest({
    key,
    method: 'POST',
    path: '/v1/decide',
    body,
    timestampSeconds: NOW_SECONDS,
    requestId: `5f0c4a52-1f1f-4b0f-9c8e-${String(n).padStart(12, '0')}`,
  });
  const head: RequestHead = {
    method: 'POST',
    path: '/v1/decide',
    query: '',
    target: '/v1/decide',
    svcKey: fields['X-SVC-Key'] ?? '',
    svcTimestamp: fields['X-SVC-Ts'] ?? '',
    svcRequestId: fields['X-SVC-Rid'] ?? '',
    svcSignature: fields['X-SVC-Sig'] ?? '',
    authorization: '',
    contentType: 'application/json',
    host: '127.0.0.1',
    cold: NO_COLD_HEADERS,
    contentLength: body.length,
    lengthFault: null,
    formFault: null,
    params: {},
  };
  return { head, body };
}

function signedText({ head, body }: Signed): { text: string; signature: string } {
  const bodyHash = hash('sha256', body, 'hex');
  return {
    text: canonicalText(head.method, head.path, head.svcTimestamp, bodyHash, head.svcRequestId),
    signature: head.svcSignature,
  };
}
