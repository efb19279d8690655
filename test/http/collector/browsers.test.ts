import { randomBytes } from 'node:crypto';
import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plainToken } from '../../support/collector.ts';
import { CALM, decide, newCustomer } from '../../support/requests.ts';
import { REPEATABLE_ENV, type RunningServer, startServer } from '../../support/server.ts';

const PHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 26_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1';
const MODELS = [1, 2, 3].map((n) => String(n).repeat(64));
const START = Date.UTC(2026, 10, 23, 9) / 1_000;

const agent = new Agent({ keepAlive: true, maxSockets: 4 });
/** People who visit at the same time. Their visits stay within the 300 s of a signature, because the clock follows the newest of them. */
const AT_ONCE = 2;

const newId = (): string => randomBytes(16).toString('base64url');

describe('browsers and phones of one model', () => {
  let server: RunningServer;
  let waiting: string[];
  beforeAll(async () => {
    server = await startServer({ env: REPEATABLE_ENV });
    // Creates the customers before the virtual clock leaves this machine's time.
    waiting = [];
    for (let n = 0; n < 4; n++) waiting.push((await newCustomer(server.url, server.dataDir)).secretKey);
  });
  const anotherKey = (): string => {
    const key = waiting.pop();
    if (key === undefined) throw new Error('more customers must be created');
    return key;
  };
  afterAll(async () => {
    agent.destroy();
    await server.stop();
  });

  interface Visitor {
    readonly name: string;
    readonly fp: string;
    readonly did?: string;
    /** Of 82.x.y.0/24. */
    readonly network: number;
  }

  /** A visit that logs in; returns the response to the login. */
  async function visit(key: string, { name, fp, did, network }: Visitor, atSeconds: number) {
    const sid = newId();
    const token = () => plainToken({ fp, sid, iat: atSeconds - 20, ...(did !== undefined && { did }) });
    const common = {
      ip: `82.${20 + (network >> 8)}.${network & 255}.7`,
      user_agent: PHONE,
      entity_keys: { email: `${name}@gmx.de` },
    };
    const page = { ...CALM, ...common, session_token: token(), referrer: 'https://www.google.com/' };
    await decide(server.url, key, page, { timestampSeconds: atSeconds, agent });
    const login = {
      ...common,
      session_token: token(),
      event_type: 'login',
      url: 'https://shop.example/login',
      referrer: 'https://shop.example/search',
    };
    const { json } = await decide(server.url, key, login, { timestampSeconds: atSeconds + 25, agent });
    return json as { decision: string; reasons: string[]; score: number };
  }

  test.each([
    ['without ids', false, 0],
    ['with an id in each browser', true, 4],
  ])(
    '200 honest people on 3 phone models, each with an own network, are not challenged %s',
    async (_name, hasIds, from) => {
      const secretKey = anotherKey();
      const ids = Array.from({ length: 200 }, newId);
      const answered: string[] = [];
      for (let day = 0; day < 2; day++) {
        for (let first = 0; first < 200; first += AT_ONCE) {
          await Promise.all(
            Array.from({ length: AT_ONCE }, async (_, nth) => {
              const n = first + nth;
              const person = {
                name: `person.${n}`,
                fp: MODELS[n % 3] ?? '',
                network: n,
                ...(hasIds && { did: ids[n] ?? '' }),
              };
              const { decision, reasons } = await visit(secretKey, person, START + (from + day) * 86_400 + n * 120);
              if (decision !== 'ALLOW') answered.push(`${day} ${n} ${decision} ${reasons.join()}`);
            }),
          );
        }
      }
      expect(answered).toEqual([]);
    },
  );

  test('12 accounts from one browser are challenged, among 200 honest owners of the same model', async () => {
    const secretKey = anotherKey();
    const at = START + 8 * 86_400;
    for (let n = 0; n < 60; n++) {
      await visit(secretKey, { name: `owner.${n}`, fp: MODELS[0] ?? '', did: newId(), network: n }, at + n * 120);
    }
    const did = newId();
    const decisions: string[] = [];
    for (let n = 0; n < 12; n++) {
      const thief = { name: `victim.${n}`, fp: MODELS[0] ?? '', did, network: 300 + n };
      const { decision, reasons } = await visit(secretKey, thief, at + 8_000 + n * 300);
      decisions.push(reasons.includes('device_many_entities') ? decision : 'quiet');
    }
    expect(decisions.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => 'quiet'));
    expect(decisions.slice(5)).toEqual(Array.from({ length: 7 }, () => 'SOFT_CHALLENGE'));
  });

  test('An attacker who changes the id in each request is caught like one without an id', async () => {
    const secretKey = anotherKey();
    const at = START + 12 * 86_400;
    const outcomes: string[][] = [[], []];
    for (const [which, hasId] of [false, true].entries()) {
      for (let n = 0; n < 20; n++) {
        const thief = {
          name: `victim.${which}.${n}`,
          fp: which === 0 ? '8'.repeat(64) : '9'.repeat(64),
          network: 400 + 10 * which + (n % 3),
          ...(hasId && { did: newId() }),
        };
        const { decision, reasons } = await visit(secretKey, thief, at + which * 90_000 + n * 200);
        outcomes[which]?.push(`${decision} ${reasons.filter((reason) => reason.startsWith('device_')).join()}`);
      }
    }
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(outcomes[1]?.at(-1)).toBe('SOFT_CHALLENGE device_many_entities');
  });
});
