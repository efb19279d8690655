import { expect, test } from 'vitest';
import { PERSON_TEXTS } from '../../../src/api/person-texts.ts';
import { bearer } from '../../support/manage.ts';
import { CALM, decide } from '../../support/requests.ts';
import { startNode } from '../../support/server.ts';

test('A decision is explained to the person in the language that is asked for, without codes, scores and evidence', async () => {
  const server = await startNode({});
  try {
    const call = (method: string, path: string, body?: unknown): ReturnType<typeof bearer> =>
      bearer(server.url, server.secretKey, method, path, body);
    await call('POST', '/v1/lists', {
      kind: 'email',
      value: 'anna@example.com',
      action: 'block',
      note: 'a private note',
    });
    const body = { ...CALM, event_type: 'payment', entity_keys: { email: 'anna@example.com' } };
    const { request_id: id, decision } = (await decide(server.url, server.secretKey, body)).json;
    expect(decision).toBe('BLOCK');
    const of = (query: string): ReturnType<typeof call> =>
      call('GET', `/v1/decisions/${String(id)}/explanation${query}`);
    const { status, json, text } = await of('?for=person&lang=fr');
    const { decisions, reasons } = PERSON_TEXTS.fr;
    expect([status, json]).toMatchObject([200, { request_id: id, lang: 'fr', decision: decisions.BLOCK }]);
    expect(json['reasons']).toContain(reasons.list);
    expect(text).not.toMatch(/list_block|private note|anna|score/);
    expect((await of('')).json['decision']).toBe(PERSON_TEXTS.en.decisions.BLOCK);
    expect((await of('?lang=xx')).status).toBe(400);
    expect((await of('?for=everyone')).status).toBe(400);
    expect((await call('GET', '/v1/decisions/req_01J00000000000000000000000/explanation')).status).toBe(404);
  } finally {
    await server.stop();
  }
});
