import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { UNSIGNED } from '../../support/manage.ts';
import { get, newCustomer, send } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const MANIFEST = new URL('../../../dist/web/collector/manifest.json', import.meta.url);

interface Manifest {
  readonly version: string;
  readonly files: Readonly<Record<'classic' | 'esm', { readonly integrity: string }>>;
}

/** Contract, 17.1, for the script of this build; test/unit/app/collector-files.test.ts has other builds. */
describe('the collector script of a running server', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test('The server sends the script that the build made, or none and a warning at its start', async () => {
    const newest = await get(server.url, '/v1/collector.js');
    const warnings = server.stdout().split('the collector script is not part of this build').length - 1;
    if (!existsSync(MANIFEST)) {
      expect([newest.status, newest.json['code'], warnings]).toEqual([404, 'not_found', 1]);
      return;
    }
    const { version, files } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as Manifest;
    expect([newest.status, warnings]).toEqual([200, 0]);
    for (const [ending, { integrity }] of [
      ['js', files.classic],
      ['mjs', files.esm],
    ] as const) {
      const { status, text, headers } = await get(server.url, `/v1/collector/${version}.${ending}`);
      expect([status, headers['access-control-allow-origin']]).toEqual([200, '*']);
      expect(`sha384-${createHash('sha384').update(text).digest('base64')}`).toBe(integrity);
      expect((await get(server.url, `/v1/collector.${ending}`)).text).toBe(text);
    }
  });

  test('A script path is for GET and HEAD only, and needs no key', async () => {
    const { publicKey } = await newCustomer(server.url, server.dataDir);
    for (const path of ['/v1/collector.js', '/v1/collector.mjs', '/v1/collector/1.1.0.js']) {
      const answer = await send(server.url, publicKey, { path, headers: UNSIGNED });
      expect([answer.status, answer.headers['allow']]).toEqual([405, 'GET, HEAD']);
    }
  });
});
