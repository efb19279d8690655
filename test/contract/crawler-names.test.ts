import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NameServer, startNameServer } from '../unit/egress/name-server.ts';
import { bearer } from '../support/manage.ts';
import { decide, newcomer } from '../support/requests.ts';
import { INSTALLED_LOCATIONS, type RunningServer, startServer } from '../support/server.ts';
import { eventually } from '../support/webhooks.ts';

/** Crawlers that are verified by the names of their addresses. Source: docs/data.md. */

const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';
const APPLEBOT = 'Mozilla/5.0 (compatible; Applebot/0.3; +http://www.apple.com/go/applebot)';
/** Names of addresses, and addresses of names. */
const ZONES: Readonly<Record<string, readonly string[]>> = {
  '160.69.2.81.in-addr.arpa': ['crawl-81-2-69-160.googlebot.com'],
  'crawl-81-2-69-160.googlebot.com': ['81.2.69.160'],
  // A forger's: the name does not lead back.
  '1.70.2.81.in-addr.arpa': ['crawl-66-249-66-1.googlebot.com'],
  'crawl-66-249-66-1.googlebot.com': ['66.249.66.1'],
  '1.71.2.81.in-addr.arpa': ['17-58-0-1.applebot.apple.com'],
  '17-58-0-1.applebot.apple.com': ['81.2.71.1'],
};

let names: NameServer;
let server: RunningServer;
beforeAll(async () => {
  names = await startNameServer((name) => ZONES[name] ?? 'not_found');
  server = await startServer({ env: { ...INSTALLED_LOCATIONS, GATEHOUSE_LOOK_UPS: names.address } });
});
afterAll(async () => {
  await server.stop();
  names.close();
});

interface Crawl {
  readonly reasons: readonly string[];
  readonly verified: string | null;
}

async function crawl(ip: string, userAgent: string, key = server.secretKey): Promise<Crawl> {
  const body = { ...newcomer(), ip, user_agent: userAgent, event_type: 'page_view' };
  const { json } = await decide(server.url, key, body);
  const id = String(json['request_id']);
  const { json: shown } = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions/${id}`);
  const agent = shown['agent'] as { readonly verified: string | null };
  return { reasons: json['reasons'] as readonly string[], verified: agent.verified };
}

/** Sends requests until the name server was asked that: beyond the budget of a second a question is dropped. */
async function lookedUp(query: string, ip: string, userAgent: string): Promise<void> {
  await eventually('the look-up', async () => {
    await crawl(ip, userAgent);
    return names.asked.includes(query) ? true : null;
  });
}

describe('names of crawlers’ addresses', () => {
  test('The first request of a crawler outside of the shipped ranges is not verified, and later ones are', async () => {
    const first = await crawl('81.2.69.160', GOOGLEBOT);
    expect(first.verified).toBe('none');
    const later = await eventually('the look-up', async () => {
      const one = await crawl('81.2.69.160', GOOGLEBOT);
      return one.verified === 'dns' ? one : null;
    });
    expect(later.reasons).toContain('agent_verified');
    expect(later.reasons).not.toContain('device_bot_user_agent');
    // One look-up for the name and one for its address, however many requests came.
    expect(names.asked.filter((one) => one.includes('81-2-69-160') || one.startsWith('160.'))).toHaveLength(2);
  });

  test('A crawler whose operator publishes no ranges here is unknown first, and verified by its name then', async () => {
    expect((await crawl('81.2.71.1', APPLEBOT)).verified).toBeNull();
    await eventually('the look-up', async () =>
      (await crawl('81.2.71.1', APPLEBOT)).verified === 'dns' ? true : null,
    );
    await bearer(server.url, server.secretKey, 'GET', '/v1/top?by=crawler');
  });

  test('A forger that gives his address the name of a crawler is not verified', async () => {
    await lookedUp('crawl-66-249-66-1.googlebot.com 1', '81.2.70.1', GOOGLEBOT);
    const later = await crawl('81.2.70.1', GOOGLEBOT);
    expect(later).toMatchObject({ verified: 'none' });
    expect(later.reasons).toContain('agent_forged');
  });

  test('Nobody is asked for an address within published ranges, for no crawler, and for a request of a public key', async () => {
    expect((await crawl('66.249.66.1', GOOGLEBOT)).verified).toBe('range');
    expect((await crawl('81.2.72.1', newcomer().user_agent)).verified).toBeNull();
    await decide(server.url, server.publicKey, { ...newcomer(), ip: '81.2.73.1', user_agent: GOOGLEBOT });
    // A question that is asked afterwards is answered; had the others been asked, they would have been too.
    await lookedUp('1.74.2.81.in-addr.arpa 12', '81.2.74.1', APPLEBOT);
    for (const one of ['1.66.249.66', '1.72.2.81', '1.73.2.81'])
      expect(names.asked).not.toContain(`${one}.in-addr.arpa 12`);
  });
});
