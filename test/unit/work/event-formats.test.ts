import { describe, expect, test } from 'vitest';
import { WEBHOOK_FORMATS } from '../../../src/contract/vocabulary.ts';
import { DECISIONS } from '../../../src/risk/decision.ts';
import { formatEvent } from '../../../src/work/formats/event-formats.ts';
import { exampleDecided } from '../../../src/work/webhook-event.ts';

const REQUEST = 'req_01KB2R4T00AAAAAAAAAAAAAAAA';
const example = exampleDecided(1_800_000_000, REQUEST, 'BLOCK');
const HOSTILE =
  '<!channel> <@U1> <https://evil.test|ok> **b** [x](https://evil.test) {{DATE(1)}} a|b=c\\d & \r\ne\u202ef';
const hostile = {
  event: { ...example.event, reasons: [HOSTILE, 'x'.repeat(9_000), ...Array.from({ length: 80 }, (_, i) => `r${i}`)] },
  detail: { ...(example.detail as NonNullable<typeof example.detail>), eventType: HOSTILE, path: HOSTILE },
};

interface SlackText {
  readonly type: string;
  readonly text: string;
}

describe('slack', () => {
  test.each([example, hostile])('A message keeps the limits of Block Kit, and values are plain text', (decided) => {
    const message = JSON.parse(formatEvent(decided, { format: 'slack' })) as {
      readonly text: string;
      readonly blocks: readonly { readonly type: string; readonly text?: SlackText; readonly fields?: SlackText[] }[];
    };
    expect(message.text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
    expect(message.blocks.map(({ type }) => type)).toEqual(['header', 'section', 'context']);
    expect(message.blocks[0]?.text?.type).toBe('plain_text');
    expect(message.blocks[0]?.text?.text.length).toBeLessThanOrEqual(150);
    const fields = message.blocks[1]?.fields ?? [];
    expect(fields.length).toBeLessThanOrEqual(10);
    for (const { type, text } of fields) {
      expect(type).toBe('plain_text');
      expect(text.length).toBeGreaterThan(0);
      expect(text.length).toBeLessThanOrEqual(2_000);
      expect(text.split('\n')).toHaveLength(2);
    }
  });
});

describe('teams', () => {
  test.each([example, hostile])('A message is one Adaptive Card whose texts are runs without markup', (decided) => {
    const text = formatEvent(decided, { format: 'teams' });
    expect(Buffer.byteLength(text)).toBeLessThan(28_000);
    expect(text).not.toContain('{{');
    const { type, attachments } = JSON.parse(text) as {
      readonly type: string;
      readonly attachments: readonly {
        readonly contentType: string;
        readonly content: { readonly type: string; readonly version: string; readonly body: readonly object[] };
      }[];
    };
    expect([type, attachments.length]).toEqual(['message', 1]);
    expect(attachments[0]).toMatchObject({
      contentType: 'application/vnd.microsoft.card.adaptive',
      content: { type: 'AdaptiveCard', version: '1.4' },
    });
    for (const block of attachments[0]?.content.body ?? []) {
      const { inlines } = block as { readonly inlines: readonly { readonly type: string }[] };
      expect(block).toMatchObject({ type: 'RichTextBlock' });
      expect(new Set(inlines.map((run) => run.type))).toEqual(new Set(['TextRun']));
    }
  });
});

/** Splits at separators that no backslash escapes. */
function fieldsOf(line: string): readonly string[] {
  return line.split(/(?<!\\)(?:\\\\)*\|/);
}

describe('cef', () => {
  test('The documented example has header, severity and extension', () => {
    expect(formatEvent(example, { format: 'cef' })).toBe(
      `CEF:0|Gatehouse|Gatehouse|1|BLOCK|Decision BLOCK|9|rt=1800000000000 act=BLOCK externalId=${REQUEST} cat=payment ` +
        'src=203.0.113.7 request=/checkout cfp1=100 cfp1Label=Score cs1=list_block cs1Label=Reasons cs2=DE cs2Label=Country',
    );
  });

  test('Hostile values stay within their field, on one line', () => {
    const line = formatEvent(hostile, { format: 'cef' });
    expect(line).not.toMatch(/[\r\n]/);
    expect(fieldsOf(line).slice(0, 7)).toEqual([
      'CEF:0',
      'Gatehouse',
      'Gatehouse',
      '1',
      'BLOCK',
      'Decision BLOCK',
      '9',
    ]);
    const keys = [...line.matchAll(/(?:^|[ |])(\w+)(?<!\\)=/g)].map(([, key]) => key);
    expect(keys).not.toContain('c');
    expect(line).toContain('b\\=c\\\\d');
  });

  test('An IPv6 address has its own key', () => {
    const detail = { ...hostile.detail, ip: '2001:db8::1' };
    const line = formatEvent({ ...example, detail }, { format: 'cef' });
    expect(line).toContain(' c6a2=2001:db8::1 c6a2Label=Source IPv6 Address ');
    expect(line).not.toContain(' src=');
  });
});

describe('ocsf', () => {
  test.each(DECISIONS)('A %s is a Detection Finding with all required attributes', (decision) => {
    const finding = JSON.parse(
      formatEvent(exampleDecided(1_800_000_000, REQUEST, decision), { format: 'ocsf' }),
    ) as Readonly<Record<string, unknown>>;
    expect(finding).toMatchObject({
      activity_id: 1,
      category_uid: 2,
      class_uid: 2004,
      type_uid: 200_401,
      time: 1_800_000_000_000,
      metadata: { version: '1.3.0', product: { vendor_name: 'Gatehouse' } },
      finding_info: { uid: REQUEST },
      evidences: [{ src_endpoint: { ip: '203.0.113.7', location: { country: 'DE' } } }],
    });
    expect([1, 2, 3, 4, 5, 6]).toContain(finding['severity_id']);
    expect(Number.isInteger(finding['risk_score'])).toBe(true);
  });
});

test('Every format takes a decision whose record is not known, and keeps text on one line', () => {
  for (const format of WEBHOOK_FORMATS) {
    const text = formatEvent({ event: example.event, detail: null }, { format, fields: 'full' });
    expect(text).toContain(REQUEST);
    expect(text).not.toContain('undefined');
  }
});

test('Full fields are the six fields, then those of the decision', () => {
  const six = JSON.parse(formatEvent(example, {})) as object;
  const full = JSON.parse(formatEvent(example, { fields: 'full' })) as object;
  expect(Object.keys(six)).toEqual(['event', 'request_id', 'decision', 'score', 'reasons', 'timestamp']);
  expect(full).toMatchObject({
    ...six,
    event_type: 'payment',
    ip: '203.0.113.7',
    contributions: [{ reason: 'list_block', weight: 0.5, evidence: 'an example' }],
  });
});

test.each(WEBHOOK_FORMATS)('The format %s shows that a decision was made for a test key', (format) => {
  const live = formatEvent(example, { format });
  const text = formatEvent({ ...example, event: { ...example.event, isTest: true } }, { format });
  expect(text).toMatch(/Test|"livemode":false/);
  expect(live).not.toMatch(/Test|livemode/);
});
