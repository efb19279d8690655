import { beforeAll, describe, expect, test } from 'vitest';
import { call } from '../../support/manage.ts';
import { decide, newcomer } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('rules of the own', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  const check = (when: unknown): ReturnType<typeof call> =>
    call(server.url, server.secretKey, 'POST', '/v1/rules/check', { when });

  test('GET /v1/rules/facts lists every fact and attribute with its type', async () => {
    const { status, json } = await call(server.url, server.secretKey, 'GET', '/v1/rules/facts');
    expect(status).toBe(200);
    const data = json['data'] as readonly { readonly name: string; readonly type: string }[];
    expect(data.length).toBeGreaterThan(90);
    expect(data).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'account.known_for_hours', type: 'number', unit: 'hours' }),
        expect.objectContaining({ name: 'entity.<name>.devices_24h', type: 'number' }),
        expect.objectContaining({ name: 'attributes.amount', type: 'number' }),
      ]),
    );
  });

  test('A condition that can be used is 200 with its facts and its cost', async () => {
    const { status, json } = await check(
      'event.type == "payment" && attributes.amount > 500 && email.domain == "gmx.de"',
    );
    expect(status).toBe(200);
    expect(json).toEqual({
      ok: true,
      type: 'boolean',
      facts: ['event.type', 'attributes.amount', 'email.domain'],
      cost: expect.any(Number),
      warnings: [expect.objectContaining({ code: 'amount_without_currency' })],
    });
  });

  test('With a sample it also tells what the condition matches of the newest decisions, and which facts are not kept', async () => {
    const since = Math.floor(Date.now() / 1_000) - 60;
    for (const event_type of ['rule_sample', 'rule_sample', 'other'])
      await decide(server.url, server.secretKey, { ...newcomer(), event_type, attributes: { amount: 900 } });
    const sample = async (when: string, more: object = {}): Promise<unknown> => {
      const body = { when, sample: true, ...more };
      return (await call(server.url, server.secretKey, 'POST', '/v1/rules/check', body)).json['sample'];
    };
    expect(await sample('event.type == "rule_sample"')).toEqual({
      decisions: expect.any(Number),
      since: expect.any(Number),
      matches: 2,
      undecided: 0,
      devices: 2,
      facts_missing: [],
      examples: [expect.stringMatching(/^req_/), expect.stringMatching(/^req_/)],
    });
    expect(await sample('attributes.amount > 500 && event.type == "rule_sample"')).toMatchObject({
      matches: 0,
      undecided: 2,
      facts_missing: ['attributes.amount'],
    });
    expect(await sample(`event.time > ${since} && account.new`, { event_types: ['Rule_Sample'] })).toMatchObject({
      matches: 0,
      undecided: 2,
      facts_missing: ['account.new'],
    });
  });

  test('Errors are 422 with line, column and the nearest right name', async () => {
    const { status, json } = await check('event.type == "payment" &&\n attributes.amunt > 500');
    expect(status).toBe(422);
    expect(json).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/when', code: 'unknown_fact', line: 2, column: 2, did_you_mean: 'attributes.amount' }],
    });
    for (const [when, code] of [
      ['score >', 'syntax_error'],
      ['score == "a"', 'type_error'],
      ['x'.repeat(2_000), 'too_costly'],
    ] as const)
      expect((await check(when)).json).toMatchObject({ code: 'validation_failed', errors: [{ code, line: 1 }] });
  });

  test('A body without a condition is refused with its pointer', async () => {
    expect((await check(5)).json).toMatchObject({ errors: [{ pointer: '/when' }] });
  });
});
