import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { get } from '../../support/requests.ts';
import { sharedServer } from '../../support/shared-server.ts';

test('docs/operating.md documents every metric of the service, with its kind, and no other', async () => {
  const { url } = await sharedServer();
  const { text } = await get(url, '/metrics');
  const served = [...text.matchAll(/^# TYPE (gatehouse_\w+) (\w+)$/gm)].map(([, name, kind]) => `${name} ${kind}`);
  const page = readFileSync('docs/operating.md', 'utf8');
  const documented = [...page.matchAll(/^\| `(gatehouse_\w+)` +\| (\w+)/gm)].map(([, name, kind]) => `${name} ${kind}`);
  expect(documented.sort()).toEqual(served.sort());
});
