import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { decide, get, newcomer } from '../support/requests.ts';
import { installWithout, optionalPackages } from '../support/installation.ts';
import { INSTALLED_LOCATIONS, startServer, type RunningServer, type ServerOptions } from '../support/server.ts';

/** The whole server with missing or broken layers: it starts, decides, and reports what is missing. */

interface Asset {
  readonly state: string;
  readonly detail: string;
}

let server: RunningServer | null = null;
const folders: string[] = [];
afterEach(async () => {
  await server?.stop();
  server = null;
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folderOf(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-files-'));
  folders.push(folder);
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

async function startAndDecide(options: ServerOptions): Promise<{
  ready: Record<string, unknown>;
  layers: Record<string, Asset>;
  decision: Record<string, unknown>;
}> {
  server = await startServer(options);
  const answer = await decide(server.url, server.secretKey, { ...newcomer(), user_agent: 'curl/8.5.0' });
  expect(answer.status).toBe(200);
  expect(answer.json['reasons']).toEqual(['device_http_library']);
  const ready = await get(server.url, '/readyz');
  expect(ready.status).toBe(200);
  return { ready: ready.json, layers: ready.json['layers'] as Record<string, Asset>, decision: answer.json };
}

describe('starts with missing or broken layers', () => {
  test('A server without any of the optional dependencies starts and decides', async () => {
    const optional = optionalPackages();
    const { folder, main } = installWithout((name) => optional.includes(name));
    folders.push(folder);
    const { ready, layers, decision } = await startAndDecide({ main, env: INSTALLED_LOCATIONS });
    expect(ready).toMatchObject({ status: 'degraded', transport: 'node' });
    expect(String(ready['transport_detail'])).toMatch(/not installed|no uWebSockets/);
    expect(layers['geoip_city']).toMatchObject({ state: 'absent', detail: 'no city or country database' });
    expect(layers['model']?.state).toBe('absent');
    expect(decision['session_mode']).toBe('degraded');
    expect(server?.stdout()).toContain('serving with node:http');
  });

  test('A server without a uWebSockets.js binary, or with an unexpected one, starts and uses node:http', async () => {
    const { folder, main } = installWithout((name) => name.startsWith('uWebSockets.js'));
    folders.push(folder);
    const { ready } = await startAndDecide({ main });
    expect(ready).toMatchObject({ status: 'ok', transport: 'node' });
    await server?.stop();

    const target = `uWebSockets.js-${process.platform}-${process.arch}-${process.versions.node.split('.')[0] ?? ''}`;
    const fake = join(folder, 'node_modules', target);
    mkdirSync(fake, { recursive: true });
    writeFileSync(join(fake, 'uws.node'), 'not the expected bytes');
    writeFileSync(join(fake, 'package.json'), JSON.stringify({ name: target, main: 'index.js' }));
    writeFileSync(join(fake, 'index.js'), 'throw new Error("must not be loaded")');
    const second = await startAndDecide({ main });
    expect(second.ready['transport']).toBe('node');
    expect(String(second.ready['transport_detail'])).toMatch(/not the expected|no uWebSockets/);
  });

  test('A server with a garbage .mmdb beside the installed databases starts and uses the installed ones', async () => {
    const geoipDir = folderOf({ 'GeoLite2-City.mmdb': Buffer.alloc(5_000, 0x5a) });
    const { layers, decision } = await startAndDecide({
      env: { ...INSTALLED_LOCATIONS, GATEHOUSE_GEOIP_DIR: geoipDir },
    });
    expect(layers['geoip_city']?.state).toBe('ok');
    expect(layers['geoip_city']?.detail).toContain('GeoLite2-City.mmdb was refused');
    expect(decision['session_mode']).toBe('unverified');
  });

  test('A server with a garbage .mmdb and no other database starts and reports the layer as broken', async () => {
    const { folder, main } = installWithout((name) => name.startsWith('@ip-location-db/'));
    folders.push(folder);
    const geoipDir = folderOf({ 'GeoLite2-City.mmdb': Buffer.alloc(5_000, 0x5a) });
    const { ready, layers, decision } = await startAndDecide({
      main,
      env: { ...INSTALLED_LOCATIONS, GATEHOUSE_GEOIP_DIR: geoipDir },
    });
    expect(ready['status']).toBe('degraded');
    expect(layers['geoip_city']?.state).toBe('broken');
    expect(decision['session_mode']).toBe('degraded');
  });

  test('A server with a garbage .onnx starts, its model layer is broken, and rules decide', async () => {
    const garbage = Buffer.from('this is no model');
    const manifest = {
      name: 'garbage',
      version: '1',
      sha256: createHash('sha256').update(garbage).digest('hex'),
      columns: ['event_login'],
      golden: [{ features: [1], probability: 0.5, tolerance: 0.01 }],
    };
    const modelsDir = folderOf({ 'model.onnx': garbage, 'model.json': JSON.stringify(manifest) });
    const { ready, layers, decision } = await startAndDecide({ env: { GATEHOUSE_MODELS_DIR: modelsDir } });
    expect(ready['status']).toBe('degraded');
    expect(layers['model']?.state).toBe('broken');
    expect(decision['session_mode']).toBe('degraded');
  });

  test('A server without onnxruntime-node uses no model and is not degraded', async () => {
    const { folder, main } = installWithout((name) => name === 'onnxruntime-node');
    folders.push(folder);
    const { makeModel, writeModel } = await import('../../scripts/make-model.ts');
    const modelsDir = folderOf({});
    writeModel(modelsDir, makeModel());
    const { layers, decision } = await startAndDecide({ main, env: { GATEHOUSE_MODELS_DIR: modelsDir } });
    expect(layers['model']?.state).toBe('absent');
    expect(layers['model']?.detail).toContain('onnxruntime-node');
    expect(decision['session_mode']).toBe('unverified');
  });

  test('A model adds its score, is replaced while the server runs, and stays active when its successor is bad', async () => {
    const { makeModel, writeModel } = await import('../../scripts/make-model.ts');
    const modelsDir = folderOf({});
    writeModel(modelsDir, makeModel());
    // By default a model is silent on a customer's first day.
    const policy = join(folderOf({ 'policy.json': JSON.stringify({ model: { first_day: 'counts' } }) }), 'policy.json');
    server = await startServer({ env: { GATEHOUSE_MODELS_DIR: modelsDir, GATEHOUSE_POLICY_FILE: policy } });
    const { url, secretKey } = server;
    const suspicious = {
      ...newcomer(),
      user_agent:
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/139.0.0.0 Safari/537.36',
    };
    const versionOf = async (): Promise<unknown> => {
      const { json } = await get(url, '/readyz');
      return (json['layers'] as Record<string, { version: string }>)['model']?.version;
    };
    expect((await decide(url, secretKey, suspicious)).json['reasons']).toContain('model_score');
    const before = await versionOf();
    writeModel(modelsDir, makeModel('good', '2.0.0'));
    await expect.poll(versionOf, { timeout: 10_000 }).not.toBe(before);
    const after = await versionOf();
    writeFileSync(join(modelsDir, 'model.onnx'), 'garbage');
    const detailOf = async (): Promise<string> => {
      const { json } = await get(url, '/readyz');
      return (json['layers'] as Record<string, { detail: string }>)['model']?.detail ?? '';
    };
    await expect.poll(detailOf, { timeout: 10_000 }).not.toBe('');
    expect(await versionOf()).toBe(after);
    expect((await decide(url, secretKey, suspicious)).json['reasons']).toContain('model_score');
  });
});
