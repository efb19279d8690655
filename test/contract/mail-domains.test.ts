import { afterAll, beforeAll, expect, test } from 'vitest';
import { decide, newcomer } from '../support/requests.ts';
import { type RunningServer, startServer } from '../support/server.ts';
import { eventually } from '../support/webhooks.ts';
import { type NameServer, startNameServer } from '../unit/egress/name-server.ts';

/** Mail domains of sign-ups, which are looked up beside the decisions. Source: docs/data.md. */

let names: NameServer;
let server: RunningServer;
beforeAll(async () => {
  names = await startNameServer((name, type) =>
    name === 'alive.example' && type === 'MX' ? ['mx.alive.example'] : 'not_found',
  );
  server = await startServer({ env: { GATEHOUSE_LOOK_UPS: names.address } });
});
afterAll(async () => {
  await server.stop();
  names.close();
});

async function reasonsOf(domain: string, eventType = 'signup'): Promise<readonly string[]> {
  const body = { ...newcomer(), event_type: eventType, entity_keys: { email: `anna@${domain}` } };
  const { json } = await decide(server.url, server.secretKey, body);
  return json['reasons'] as readonly string[];
}

test('The second sign-up of a domain without mail has the reason, which weighs nothing; other events ask nobody', async () => {
  expect(await reasonsOf('dead.example')).not.toContain('email_no_mx');
  await eventually('the look-up', async () =>
    (await reasonsOf('dead.example')).includes('email_no_mx') ? true : null,
  );
  expect(await reasonsOf('dead.example', 'login')).not.toContain('email_no_mx');
  expect(await reasonsOf('quiet.example', 'login')).not.toContain('email_no_mx');
  await eventually('the look-up', async () => {
    expect(await reasonsOf('alive.example')).not.toContain('email_no_mx');
    return names.asked.includes('alive.example 15') ? true : null;
  });
  expect(await reasonsOf('alive.example')).not.toContain('email_no_mx');
  // A slow machine asks a second time before the answer is there.
  expect([...new Set(names.asked.filter((one) => one.startsWith('dead.example')))]).toEqual(['dead.example 15']);
  expect(names.asked.filter((one) => one.startsWith('quiet.example'))).toEqual([]);
});
