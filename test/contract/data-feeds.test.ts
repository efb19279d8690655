import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { command } from '../support/command-line.ts';
import { bearer } from '../support/manage.ts';
import { decide, get, newcomer } from '../support/requests.ts';
import { INSTALLED_LOCATIONS, type RunningServer, startServer } from '../support/server.ts';
import { eventually } from '../support/webhooks.ts';

/** Data feeds on a server as it is installed, without any file of an operator. Source: docs/data.md. */

let server: RunningServer;
let offline = '';
beforeAll(async () => {
  offline = mkdtempSync(join(tmpdir(), 'gatehouse-offline-'));
  server = await startServer({ env: INSTALLED_LOCATIONS });
});
afterAll(async () => {
  await server.stop();
  rmSync(offline, { recursive: true, force: true });
});

async function reasonsOf(ip: string, more: object = {}): Promise<{ decision: string; reasons: readonly string[] }> {
  const { json } = await decide(server.url, server.secretKey, { ...newcomer(), ip, event_type: 'payment', ...more });
  return { decision: String(json['decision']), reasons: json['reasons'] as readonly string[] };
}

describe('data feeds', () => {
  test('A payment from a network of Tor exits is challenged, and the reason names it', async () => {
    const { decision, reasons } = await reasonsOf('185.220.101.7');
    expect(reasons).toContain('ip_tor_exit');
    expect(decision).not.toBe('ALLOW');
    const { json } = await get(server.url, '/readyz');
    expect(json['data']).toMatchObject({ tor: { state: 'old' }, crawlers: { state: 'ok' }, asn: { state: 'absent' } });
  });

  test('A real crawler is let through, and a forged one differs from it', async () => {
    const agent = {
      user_agent: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
      event_type: 'page_view',
    };
    const real = await reasonsOf('66.249.66.1', agent);
    const forged = await reasonsOf('81.2.69.160', agent);
    expect(real.reasons).toContain('agent_verified');
    expect(real.reasons).not.toContain('device_bot_user_agent');
    expect(real.reasons).not.toContain('ip_hosting');
    expect(real.decision).toBe('ALLOW');
    expect(forged.reasons).toEqual(expect.arrayContaining(['agent_forged', 'device_bot_user_agent']));
    expect(forged.decision).not.toBe('ALLOW');

    const google = { kind: 'crawler', id: 'Googlebot', operator: 'google', purpose: 'search', decisions: 1 };
    const { json } = await bearer(server.url, server.secretKey, 'GET', '/v1/top?by=crawler');
    const rows = json['rows'] as readonly { readonly verified: string }[];
    expect(rows.toSorted((a, b) => a.verified.localeCompare(b.verified))).toMatchObject([
      { ...google, verified: 'none' },
      { ...google, verified: 'range', blocked: 0 },
    ]);
    const shown = await bearer(server.url, server.secretKey, 'GET', '/v1/decisions?reason=agent_forged');
    expect(shown.json['data']).toMatchObject([
      { agent: { claimed: 'Googlebot', verified: 'none', operator: 'google', purpose: 'search' } },
    ]);
  });

  test('An update beside the server counts within seconds; a feed that lost half is held back, with exit code 1', async () => {
    const exits = Array.from({ length: 60 }, (_, n) => `45.84.107.${n}`);
    const update = async (lines: readonly string[]) => {
      writeFileSync(join(offline, 'tor.txt'), lines.join('\n'));
      return command(['data', 'update', '--offline', offline, '--json', '--data-dir', server.dataDir]);
    };
    expect((await reasonsOf('45.84.107.7')).reasons).not.toContain('ip_tor_exit');
    expect((await update(exits)).code).toBe(0);
    await eventually('the new exits', async () => {
      const { reasons } = await reasonsOf('45.84.107.7');
      return reasons.includes('ip_tor_exit') ? reasons : null;
    });
    const held = await update(exits.slice(0, 25));
    expect(held.code).toBe(1);
    expect(JSON.parse(held.out)).toMatchObject({
      feeds: [{ feed: 'tor', state: 'held', reason: 'lost_half' }, {}, {}, {}, {}, {}, {}],
    });
    const tor = await eventually('the report', async () => {
      const { json } = await get(server.url, '/readyz');
      const found = (json['data'] as Record<string, { readonly state: string }>)['tor'];
      return found?.state === 'held' ? found : null;
    });
    expect(tor).toMatchObject({ rows: 60 });
    expect((await reasonsOf('45.84.107.55')).reasons).toContain('ip_tor_exit');
  });

  test('A mail domain that an update lists counts within seconds for an open session too; half of the list is held back', async () => {
    const [folder, sessionToken] = [mkdtempSync(join(tmpdir(), 'gatehouse-domains-')), newcomer()['session_token']];
    const domains = Array.from({ length: 1_500 }, (_, n) => `burner-${n}.example-mail.com`);
    const update = async (lines: readonly string[]) => {
      writeFileSync(join(folder, 'disposable.txt'), lines.join('\n'));
      return command(['data', 'update', '--offline', folder, '--json', '--data-dir', server.dataDir]);
    };
    const seen = async (domain: string) => {
      const more = { session_token: sessionToken, entity_keys: { email: `anna@${domain}` } };
      return (await reasonsOf('81.2.69.160', more)).reasons.includes('identity_disposable_email');
    };
    const { json: before } = await get(server.url, '/readyz');
    expect(before['data']).toMatchObject({ disposable: { state: 'ok' }, free_mail: { state: 'ok' } });
    // Listed by the shipped copy, and not by the new one.
    expect(await seen('mailinator.com')).toBe(true);
    expect(await seen('burner-7.example-mail.com')).toBe(false);
    expect((await update(domains)).out).not.toContain('"doubled"');
    await eventually('the new list', async () => ((await seen('x.burner-7.example-mail.com')) ? true : null));
    expect(await seen('mailinator.com')).toBe(false);
    const held = await update(domains.slice(0, 1_000).filter((_, n) => n % 2 === 0));
    expect(held.code).toBe(1);
    const { feeds } = JSON.parse(held.out) as { readonly feeds: readonly object[] };
    expect(feeds).toContainEqual(
      expect.objectContaining({ feed: 'disposable', state: 'held', reason: 'too_few_rows' }),
    );
    expect(await seen('burner-1499.example-mail.com')).toBe(true);
    rmSync(folder, { recursive: true, force: true });
  });
});
