import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { command } from '../../support/command-line.ts';
import { writeForest } from '../../support/forest-files.ts';
import { bearer } from '../../support/manage.ts';
import { type Answer, newCustomer } from '../../support/requests.ts';
import { type RunningServer, startServer } from '../../support/server.ts';

const [FIRST, SECOND] = ['20261120-000000', '20261121-000000'] as const;

describe('POST /v1/models/choose', () => {
  let server: RunningServer;
  let folder: string;
  let models: string;
  let key: string;

  const choose = (action: string, id?: string): Promise<Answer> =>
    bearer(server.url, key, 'POST', '/v1/models/choose', { action, ...(id !== undefined && { id }) });
  const run = async (...words: string[]): Promise<string> => {
    const { code, out, err } = await command(['--data-dir', server.dataDir, ...words]);
    expect([code, err]).toEqual([0, '']);
    return out;
  };
  const slot = (name: string): unknown => {
    const path = join(models, `${name}.json`);
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { id: unknown }).id : 'none';
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-choose-'));
    models = join(folder, 'models');
    writeForest(models, { version: 'zero', probability: 0.1 });
    for (const id of [FIRST, SECOND]) writeForest(join(models, 'candidates', id), { version: id, probability: 0.9 });
    server = await startServer({ dataDir: join(folder, 'data'), env: { GATEHOUSE_MODELS_DIR: models } });
    key = server.secretKey;
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  test('A candidate runs beside the active model, and a promotion names the gates that do not hold', async () => {
    expect(await choose('shadow', FIRST)).toMatchObject({ status: 200, json: { id: FIRST, previous: null } });
    expect(slot('shadow')).toBe(FIRST);
    const { status, json } = await choose('promote', FIRST);
    expect([status, json['code']]).toEqual([409, 'not_ready']);
    expect(json['detail']).toContain('shadow_days');
    expect(slot('active')).toBe('none');
    expect(await choose('promote', SECOND)).toMatchObject({ status: 409 });
    expect(await choose('end_shadow')).toMatchObject({ status: 200, json: { id: FIRST } });
    expect(await choose('end_shadow')).toMatchObject({ status: 409 });
  });

  test('A rollback returns to the model before and is in the audit log with the key', async () => {
    expect((await choose('rollback')).status).toBe(409);
    await run('models', 'promote', FIRST, '--yes', '--models', models);
    expect(await choose('rollback')).toMatchObject({ status: 200, json: { id: null, previous: FIRST } });
    expect(await choose('rollback')).toMatchObject({ status: 200, json: { id: FIRST, previous: null } });
    expect(slot('active')).toBe(FIRST);
    expect(await choose('resume')).toMatchObject({ status: 200, json: { id: FIRST } });
    const audit = await run('audit');
    for (const kind of ['model.rolled_back', 'model.resumed']) expect(audit).toContain(kind);
    expect(audit).toContain(`key:${key.slice(0, 12)}`);
  });

  test('What is not there or not named is refused, and so is every key once there are several customers', async () => {
    expect((await choose('shadow', '20991231-000000')).status).toBe(404);
    expect((await choose('shadow', '../model')).status).toBe(404);
    expect((await choose('promote')).json).toMatchObject({ status: 422, errors: [{ pointer: '/id' }] });
    expect((await choose('delete')).json).toMatchObject({ status: 422, errors: [{ pointer: '/action' }] });
    const { customerId } = await newCustomer(server.url, server.dataDir);
    expect(await choose('rollback')).toMatchObject({ status: 403, json: { code: 'key_not_allowed' } });
    expect(slot('active')).toBe(FIRST);
    await run('customers', 'suspend', customerId, '--yes');
    expect((await choose('rollback')).status).toBe(200);
  });
});
