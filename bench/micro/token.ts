import { readIp } from '../../src/risk/signals/ip.ts';
import { checkGrant, CollectorGrants } from '../../src/risk/signals/collector-grant.ts';
import { readToken } from '../../src/risk/signals/collector-token.ts';
import { hmacSha256 } from '../../src/kernel/hmac.ts';
import { collectorToken, CUSTOMER, fresh, NOW_SECONDS } from './fixtures.ts';
import { Ring, type Stage } from './stage.ts';

const SHOP = 'https://shop.example';
const ADDRESS = readIp('81.2.69.160');

export const token: Stage = {
  name: 'token',
  add(tasks) {
    const collectors = Ring.of(256, collectorToken);
    tasks.add('collector', {
      perSample: 256,
      run: (n) => readToken(collectors.at(n)),
      isSane: ({ facts, fingerprint }) => facts.kind === 'collector' && fingerprint !== null,
    });
    const opaque = Ring.of(256, (n) => `session-20261121-${n}`);
    tasks.add('opaque', {
      perSample: 256,
      run: (n) => readToken(opaque.at(n)),
      isSane: ({ facts }) => facts.kind === 'opaque',
    });
    const grants = new CollectorGrants(Buffer.alloc(32, 7));
    const granted = Ring.of(256, (n) => grantedToken(grants, n));
    tasks.add('with a grant', {
      perSample: 256,
      run: (n) => readToken(granted.at(n)),
      isSane: ({ seal }) => seal !== null,
    });
    const seals = Ring.of(256, (n) => {
      const { seal } = readToken(grantedToken(grants, n));
      if (seal === null) throw new Error('the token is malformed');
      return seal;
    });
    const use = { customer: CUSTOMER, ip: ADDRESS, nowSeconds: NOW_SECONDS + 60, originHash: 0 };
    tasks.add('open and check a grant', {
      perSample: 256,
      run: (n) => checkGrant(grants.open(seals.at(n)), use),
      isSane: ({ fault, isOtherNetwork }) => fault === null && !isOtherNetwork,
    });
    const random = Buffer.alloc(16, 1);
    tasks.add('issue a grant', {
      perSample: 256,
      run: () => grants.issue({ customer: CUSTOMER, origin: SHOP, ip: ADDRESS, nowSeconds: NOW_SECONDS, random }),
      isSane: ({ grant }) => grant.length === 80,
    });
    return {};
  },
};

/** A token of the fixtures, signed with a grant of its own. */
function grantedToken(grants: CollectorGrants, n: number): string {
  const body = JSON.parse(Buffer.from(collectorToken(n).slice(4), 'base64url').toString()) as object;
  const request = { customer: CUSTOMER, origin: SHOP, ip: ADDRESS, nowSeconds: NOW_SECONDS };
  const { grant, nonce } = grants.issue({ ...request, random: Buffer.alloc(16, n) });
  const payload = Buffer.from(JSON.stringify({ ...body, g: grant, seq: n, aud: SHOP }));
  const mac = hmacSha256(Buffer.from(nonce, 'base64url'), payload);
  return fresh(`st2.${payload.toString('base64url')}.${mac.toString('base64url')}`);
}
