import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { formatNotice } from '../../../src/work/formats/notice-formats.ts';
import { exampleNotice } from '../../../src/work/notice.ts';
import { NOTICE_EVENTS } from '../../../src/work/webhook.ts';

const SENT = {
  eventId: 'evt_01KB2R4T00AAAAAAAAAAAAAAAA',
  requestId: 'req_01KB2R4T00AAAAAAAAAAAAAAAA',
  occurredAtMs: 1_800_000_000_000,
  isTest: false,
};

describe('further events of webhooks', () => {
  test.each(NOTICE_EVENTS)('docs/webhooks.md has the example of %s byte for byte', (event) => {
    const page = readFileSync('docs/webhooks.md', 'utf8');
    const documented = page.split('\n').filter((line) => line.startsWith(`{"event":"${event}"`));
    expect(documented).toEqual([formatNotice(exampleNotice(event, SENT), {})]);
  });

  test('Data of a test key says that it is not live', () => {
    const body = formatNotice(exampleNotice('label.created', { ...SENT, isTest: true }), {});
    expect(JSON.parse(body)).toMatchObject({ event: 'label.created', livemode: false });
  });

  test('Every format has the event, and no value leaves its place', () => {
    const hostile = { ...exampleNotice('rule.tripped', SENT), fields: { rule: 'a|b=c\n<!channel>{{DATE(1)}}' } };
    const slack = formatNotice(hostile, { format: 'slack' });
    expect(JSON.parse(slack)).toMatchObject({ text: 'Rule set back to observe' });
    expect(formatNotice(hostile, { format: 'teams' })).not.toContain('{{');
    expect(formatNotice(hostile, { format: 'cef' })).toBe(
      'CEF:0|Gatehouse|Gatehouse|1|rule.tripped|Rule set back to observe|7|rt=1800000000000 ' +
        'externalId=evt_01KB2R4T00AAAAAAAAAAAAAAAA msg=Rule: a|b\\=c <!channel>{{DATE(1)}}',
    );
    expect(JSON.parse(formatNotice(hostile, { format: 'ocsf' }))).toMatchObject({
      class_uid: 0,
      type_uid: 99,
      severity_id: 3,
      unmapped: hostile.fields,
    });
  });
});
