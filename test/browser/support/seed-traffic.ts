import { Agent } from 'node:http';
import { collectorToken } from '../../support/visits.ts';
import { decide } from '../../support/requests.ts';
import type { SharedServer } from '../../support/shared-server.ts';

/** Traffic of a small shop, as the tests of several pages need it. */

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36';
const HEADLESS =
  'Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/149.0.0.0 Safari/537.36';

/** The fingerprint that a collector's token for this device has. */
export function deviceHash(device: string): string {
  return Buffer.from(device).toString('hex').padEnd(64, '0').slice(0, 64);
}

export const FARM = 'farm';
export const FARM_IDENTITIES = 12;

export interface Seeded {
  /** Ids of the decisions, oldest first. */
  readonly ids: readonly string[];
}

/** One device with several accounts, a headless browser, a scripted client, and eight calm visitors. */
export async function seedTraffic({ url, secretKey }: SharedServer, farmIdentities = FARM_IDENTITIES): Promise<Seeded> {
  const agent = new Agent({ keepAlive: true });
  const iat = Math.floor(Date.now() / 1_000);
  const visits: Record<string, unknown>[] = [];
  for (let n = 0; n < farmIdentities; n++)
    for (const event of ['signup', 'login', 'checkout'])
      visits.push({
        ip: `81.2.69.${160 + (n % 4)}`,
        user_agent: CHROME,
        url: `https://shop.example/${event}`,
        session_token: collectorToken(FARM, `farm-session-${n % 5}`, iat),
        event_type: event,
        entity_keys: { email: `farmer${n}@shop.example`, user_id: `f-${n}` },
      });
  for (let n = 0; n < 4; n++)
    visits.push({
      ip: `2.125.160.${216 + n}`,
      user_agent: HEADLESS,
      url: 'https://shop.example/login',
      session_token: collectorToken('headless', `headless-${n}`, iat),
      event_type: 'login',
      entity_keys: { email: 'victim@shop.example' },
    });
  visits.push({ ip: '89.160.20.112', user_agent: 'curl/8.5.0', session_token: 'script-1', event_type: 'payment' });
  for (let n = 0; n < 8; n++)
    visits.push({
      ip: `175.16.199.${10 + n}`,
      user_agent: CHROME,
      url: 'https://shop.example/search',
      session_token: collectorToken(`calm-${n}`, `calm-session-${n}`, iat),
      event_type: 'search',
      entity_keys: { email: `calm${n}@shop.example` },
    });
  const ids: string[] = [];
  for (const body of visits) {
    const answer = await decide(url, secretKey, body, { agent });
    if (answer.status !== 200) throw new Error(`decide returned ${answer.status}: ${answer.text}`);
    ids.push(String(answer.json['request_id']));
  }
  agent.destroy();
  return { ids };
}
