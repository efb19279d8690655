import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { type Answer, CALM, decide, newCustomer } from '../../support/requests.ts';
import { type RunningServer, startNode } from '../../support/server.ts';
import { eventually, type Receiver, startReceiver, webhookClient } from '../../support/webhooks.ts';

const ANNA = 'anna.ericson@example.com';
const BERT = 'bert.berntsen@example.com';
const POLICY = { log_requests: '14d', log_identities: 'plain', log_features_sample: 1, sample_rate: 1 };
const ADDRESS = '81.2.69.142';
const HOSTILE = `<script>alert('${ANNA}')</script>`;

type Row = Readonly<Record<string, unknown>> & { readonly type: string; readonly place?: string };

describe('the export of a person', () => {
  let folder = '';
  let server: RunningServer;
  let receiver: Receiver;

  const call = (method: string, path: string, body?: unknown, key = server.secretKey): Promise<Answer> =>
    bearer(server.url, key, method, path, body);
  const exported = async (person: unknown): Promise<{ readonly id: string; readonly job: Answer['json'] }> => {
    const asked = await call('POST', '/v1/privacy/export', person);
    expect([asked.status, asked.json]).toEqual([202, { id: expect.stringMatching(/^prv_/), status: 'queued' }]);
    const id = String(asked.json['id']);
    const job = await eventually('the end of the export', async () => {
      const { json } = await call('GET', `/v1/privacy/${id}`);
      return json['status'] === 'succeeded' || json['status'] === 'failed' ? json : null;
    });
    return { id, job };
  };
  const linesOf = ({ text }: Answer): readonly Row[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-export-'));
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(POLICY));
    receiver = await startReceiver();
    const env = { GATEHOUSE_POLICY_FILE: join(folder, 'policy.json'), GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' };
    server = await startNode({ dataDir: join(folder, 'data'), env });
    const webhooks = webhookClient(server.url, server.secretKey);
    await webhooks.create(receiver.url, 'ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK');
    await call('PUT', '/v1/named-lists/friends', { kind: 'email' });
    for (const email of [ANNA, BERT]) {
      // Both come from one address.
      const body = { ...CALM, ip: ADDRESS, event_type: 'login', entity_keys: { email }, session_token: `of ${email}` };
      const request_id = (await decide(server.url, server.secretKey, body)).json['request_id'];
      const note = email === ANNA ? HOSTILE : `called ${email}`;
      await call('POST', '/v1/labels', { request_id, label: 'fraud', note });
      await call('POST', '/v1/lists', { kind: 'email', value: email, action: 'block', note: 'one to block' });
      await call('POST', '/v1/named-lists/friends/items', { add: [email] });
      await webhooks.ended(`?request_id=${String(request_id)}`);
    }
    // The log of requests is written when it is five seconds old.
    await sleep(7_000);
  }, 60_000);
  afterAll(async () => {
    await server.stop();
    await receiver.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('It has what every place keeps of the person, each field with its meaning, and nothing of another person', async () => {
    const { id, job } = await exported({ 'entity.email': ' Anna.Ericson@example.com' });
    expect(job).toMatchObject({ id, kind: 'export', status: 'succeeded', subject: 'entity.email', left_out: {} });
    const answer = await call('GET', `/v1/privacy/${id}/result`);
    expect(answer.headers['content-type']).toContain('application/x-ndjson');
    expect(answer.headers['cache-control']).toBe('no-store');
    const [head, ...rows] = linesOf(answer);
    const end = rows.pop();
    expect(head).toMatchObject({ type: 'export', subject: 'entity.email', value: ANNA });
    expect(end).toMatchObject({ type: 'end', left_out: {}, found: job['found'] });
    const places = head?.['places'] as readonly { place: string; fields: Record<string, string> }[];
    const fieldsOf = new Map(places.map(({ place, fields }) => [place, Object.keys(fields)]));
    for (const { type, place, ...fields } of rows) {
      expect([type, Object.keys(fields)]).toEqual(['row', fieldsOf.get(place ?? '')]);
    }
    // Every place that a table or a file of the store names.
    expect(new Set(rows.map(({ place }) => place))).toEqual(new Set(places.map(({ place }) => place)));
    const one = (place: string): Row | undefined => rows.find((row) => row.place === place);
    expect(one('decisions')).toMatchObject({ ip: ADDRESS, event_type: 'login', identities: [ANNA] });
    expect(one('requests')).toMatchObject({ body: { ip: ADDRESS, entity_keys: { email: ANNA } } });
    expect(one('notes')).toMatchObject({ label: 'fraud', label_note: HOSTILE });
    expect(one('lists')).toMatchObject({ kind: 'email', value: ANNA, action: 'block' });
    expect(one('named_lists')).toMatchObject({ list: 'friends', value: ANNA });
    expect(one('deliveries')).toMatchObject({ recipient: new URL(receiver.url).host, status: 'succeeded' });
    expect(one('velocity')?.['records']).toEqual(expect.any(Number));
    expect(answer.text).not.toContain('bert');
  });

  test('The page for people has the same, escapes what others wrote, and is handed out as a file', async () => {
    const { id } = await exported({ 'entity.email': ANNA });
    const { status, headers, text } = await call('GET', `/v1/privacy/${id}/result?format=html`);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers['content-disposition']).toBe('attachment; filename="person.html"');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(text).toContain(`<strong>${ANNA}</strong>`);
    expect(text).toContain('&lt;script&gt;alert(&#39;');
    expect(text).not.toContain('<script');
    expect(text).toContain(`<dt>Internet address</dt><dd>${ADDRESS}</dd>`);
    expect(text).toContain(`entity_keys: email: ${ANNA}`);
    expect((await call('GET', `/v1/privacy/${id}/result?format=pdf`)).status).toBe(400);
  });

  test('An export by address names none of the people who share it', async () => {
    const { id, job } = await exported({ ip: ADDRESS });
    expect(job['found']).toMatchObject({ decisions: 2, requests: 2, deliveries: 2 });
    const { text } = await call('GET', `/v1/privacy/${id}/result`);
    expect(text).not.toMatch(/anna\.ericson@|bert\.berntsen@example/);
  });

  test('It changes nothing, is in the audit log without the person, and on no disk', async () => {
    const { id } = await exported({ 'entity.email': 'nobody@example.com' });
    const audit = await call('GET', '/v1/audit?kind=privacy.export');
    expect((audit.json['data'] as object[])[0]).toMatchObject({ target: id, after: { subject: 'entity.email' } });
    expect(audit.text).not.toContain('nobody');
    const files = readdirSync(server.dataDir, { recursive: true, encoding: 'utf8' }).map((name) =>
      join(server.dataDir, name),
    );
    const holding = files.filter(
      (path) => statSync(path).isFile() && readFileSync(path).includes('nobody@example.com'),
    );
    expect(holding).toEqual([]);
    expect((await exported({ 'entity.email': ANNA })).job['found']).toMatchObject({ decisions: 1, notes: 1 });
  });

  test('Unknown members and values of another kind are refused with their place', async () => {
    const refused = async (body: unknown): Promise<unknown> => {
      const { status, json } = await call('POST', '/v1/privacy/export', body);
      return [status, (json['errors'] as { pointer: string }[])[0]?.pointer];
    };
    expect(await refused({ 'entity.email': ANNA, keep_blocks: true })).toEqual([422, '/keep_blocks']);
    expect(await refused({ ip: 'nowhere' })).toEqual([422, '/ip']);
    expect(await refused({})).toEqual([422, '/ip']);
  });

  test('Another customer finds neither the export nor its result', async () => {
    const { id } = await exported({ 'entity.email': ANNA });
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    expect((await call('GET', `/v1/privacy/${id}`, undefined, secretKey)).status).toBe(404);
    expect((await call('GET', `/v1/privacy/${id}/result`, undefined, secretKey)).status).toBe(404);
  });

  test('A customer has 20 exports, and any erasure of the customer drops them', async () => {
    const ids: string[] = [];
    let full: Answer | null = null;
    for (let n = 0; n < 21 && full === null; n++) {
      const asked = await call('POST', '/v1/privacy/export', { 'entity.email': ANNA });
      if (asked.status === 202) ids.push(String(asked.json['id']));
      else full = asked;
    }
    expect([full?.status, full?.json['code']]).toEqual([503, 'queue_full']);
    const asked = await call('POST', '/v1/privacy/erase', { 'entity.email': 'carl@example.com' });
    const erased = await eventually('the end of the erasure', async () => {
      const { json } = await call('GET', `/v1/privacy/${String(asked.json['id'])}`);
      return json['status'] === 'succeeded' ? json : null;
    });
    expect((erased['erased'] as Record<string, number>)['exports']).toBeGreaterThan(0);
    expect((await call('GET', `/v1/privacy/${ids[0]}/result`)).status).toBe(404);
    expect((await exported({ 'entity.email': ANNA })).job['status']).toBe('succeeded');
  });
});
