import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/extract/base/connector.ts';
import { calendar } from '../../../../src/extract/connectors/calendar.ts';
import { calendarReply, calendarWorld } from '../../../sources/calendar.ts';
import { fakeSource, type FakeReply } from '../../../support/fake-source.ts';
import { operationNamed, ran } from './operation-runs.ts';

const URL_INPUT = { url: 'https://club.example.org/events.ics' };
const EVENTS = operationNamed(calendar, 'calendar.events');

async function fieldsOf(reply: FakeReply): Promise<readonly JsonObject[]> {
  return (await ran(EVENTS, URL_INPUT, () => reply)).fields;
}

/** One event with these lines. */
function event(...lines: readonly string[]): string {
  return ['BEGIN:VEVENT', 'UID:1', ...lines, 'END:VEVENT'].join('\r\n');
}

/** A zone as Outlook writes it: its name means nothing to others. */
function zone(
  name: string,
  [summer, winter]: readonly string[],
  [ahead, behind]: readonly string[],
): readonly string[] {
  return [
    'BEGIN:VTIMEZONE',
    `TZID:${name}`,
    'BEGIN:STANDARD',
    'DTSTART:16010101T030000',
    `TZOFFSETTO:${behind}`,
    `RRULE:FREQ=YEARLY;${winter}`,
    'END:STANDARD',
    'BEGIN:DAYLIGHT',
    'DTSTART:16010101T020000',
    `TZOFFSETTO:${ahead}`,
    `RRULE:FREQ=YEARLY;${summer}`,
    'END:DAYLIGHT',
    'END:VTIMEZONE',
  ];
}

describe('calendar', () => {
  it('calendar reads a complete event: folded lines, escapes, a zone, exceptions of a rule, and no alarm', async () => {
    const { fields } = await ran(EVENTS, URL_INPUT, calendarWorld(1));
    expect(fields).toEqual([
      {
        id: 'tea-0@club.example.org',
        url: 'https://club.example.org/tea',
        title: 'Tea, at the harbour',
        text: 'Bring cups, and a kettle.\nNo; really\\.',
        location: 'Harbour Café',
        starts_at: '2024-05-06T14:00:00Z',
        ends_at: '2024-05-06T15:00:00Z',
        is_all_day: false,
        time_zone: 'Europe/Berlin',
        recurrence: 'FREQ=WEEKLY;BYDAY=MO',
        excluded_at: ['2024-05-20T14:00:00Z', '2024-05-27T14:00:00Z'],
        added_at: [],
        replaces_at: null,
        status: 'confirmed',
        organizer: 'Mira; Quist',
        categories: ['Tea', 'Cups, and more'],
        latitude: 53.55,
        longitude: 9.99,
        created_at: '2024-04-01T08:00:00Z',
        updated_at: '2024-04-02T08:00:00Z',
        calendar_title: 'Club',
        calendar_url: 'https://club.example.org/events.ics',
      },
    ]);
  });

  it.each([
    ['DTSTART:20240506T140000Z', '2024-05-06T14:00:00Z'],
    ['DTSTART;TZID=America/New_York:20240115T090000', '2024-01-15T14:00:00Z'],
    ['DTSTART;TZID=America/New_York:20240715T090000', '2024-07-15T13:00:00Z'],
    ['DTSTART;TZID=/mozilla.org/20070129_1/Europe/Berlin:20240506T160000', '2024-05-06T14:00:00Z'],
    ['DTSTART:20240506T140000', '2024-05-06T14:00:00Z'],
    ['DTSTART;VALUE=DATE:20240506', '2024-05-06T00:00:00Z'],
    ['DTSTART;TZID=Nowhere Time:20240506T160000', '2024-05-06T00:00:00Z'],
    ['DTSTART:20240230T140000Z', null],
    ['DTSTART:soon', null],
  ])('calendar reads %s as %s', async (line, iso) => {
    expect((await fieldsOf(calendarReply([event(line)])))[0]?.['starts_at']).toBe(iso);
  });

  it.each([
    ['20240330T120000', '2024-03-30T11:00:00Z'],
    ['20240331T120000', '2024-03-31T10:00:00Z'],
    ['20241026T120000', '2024-10-26T10:00:00Z'],
    ['20241027T120000', '2024-10-27T11:00:00Z'],
    ['20240115T120000', '2024-01-15T11:00:00Z'],
    ['20241215T120000', '2024-12-15T11:00:00Z'],
  ])('calendar reads %s by the rules of a zone of its own as %s', async (time, iso) => {
    const rules = ['BYDAY=-1SU;BYMONTH=3', 'BYDAY=-1SU;BYMONTH=10'];
    const reply = calendarReply(
      [event(`DTSTART;TZID="W. Europe":${time}`)],
      zone('W. Europe', rules, ['+0200', '+0100']),
    );
    expect((await fieldsOf(reply))[0]).toMatchObject({ starts_at: iso, time_zone: 'W. Europe' });
  });

  it.each([
    ['20240309T120000', '2024-03-09T17:00:00Z'],
    ['20240310T120000', '2024-03-10T16:00:00Z'],
    ['20241102T120000', '2024-11-02T16:00:00Z'],
    ['20241103T120000', '2024-11-03T17:00:00Z'],
  ])('calendar counts weeks from the beginning of a month: %s is %s', async (time, iso) => {
    const rules = ['BYDAY=2SU;BYMONTH=3', 'BYDAY=1SU;BYMONTH=11'];
    const reply = calendarReply([event(`DTSTART;TZID=Eastern:${time}`)], zone('Eastern', rules, ['-0400', '-0500']));
    expect((await fieldsOf(reply))[0]?.['starts_at']).toBe(iso);
  });

  it('calendar reads times without a zone in that of the calendar', async () => {
    const reply = calendarReply([event('DTSTART:20240506T160000')], ['X-WR-TIMEZONE:Europe/Berlin']);
    expect((await fieldsOf(reply))[0]).toMatchObject({ starts_at: '2024-05-06T14:00:00Z', time_zone: 'Europe/Berlin' });
  });

  it.each([
    ['DTSTART:20240506T140000Z', 'DURATION:PT1H30M', '2024-05-06T15:30:00Z'],
    ['DTSTART:20240506T140000Z', 'DURATION:P1W', '2024-05-13T14:00:00Z'],
    ['DTSTART:20240506T140000Z', 'DURATION:P1DT2H', '2024-05-07T16:00:00Z'],
    ['DTSTART:20240506T140000Z', 'DURATION:long', null],
    ['DTSTART:20240506T140000Z', 'X-NOTHING:1', null],
    ['DTSTART;VALUE=DATE:20240506', 'X-NOTHING:1', '2024-05-07T00:00:00Z'],
    ['DTSTART;VALUE=DATE:20240506', 'DTEND;VALUE=DATE:20240509', '2024-05-09T00:00:00Z'],
  ])('calendar ends an event of %s and %s at %s', async (begin, rest, end) => {
    expect((await fieldsOf(calendarReply([event(begin, rest)])))[0]?.['ends_at']).toBe(end);
  });

  it.each([
    ['ORGANIZER;CN=Mira:mailto:mira@example.com', 'Mira'],
    ['ORGANIZER;CN="mira@example.com":mailto:mira@example.com', null],
    ['ORGANIZER:mailto:mira@example.com', null],
  ])('calendar gives no address of e-mail: %s', async (line, name) => {
    expect((await fieldsOf(calendarReply([event('DTSTART:20240506T140000Z', line)])))[0]?.['organizer']).toBe(name);
  });

  it('calendar keeps a changed occurrence apart from its event', async () => {
    const changed = event('RECURRENCE-ID:20240513T140000Z', 'DTSTART:20240514T140000Z');
    const fields = await fieldsOf(calendarReply([event('DTSTART:20240506T140000Z', 'RRULE:FREQ=WEEKLY'), changed]));
    expect(fields.map(({ id, replaces_at }) => [id, replaces_at])).toEqual([
      ['1', null],
      ['1 2024-05-13T14:00:00Z', '2024-05-13T14:00:00Z'],
    ]);
  });

  it('calendar gives an event without an id one by its content, and none that has neither id nor beginning', async () => {
    const without = (line: string) => ['BEGIN:VEVENT', 'SUMMARY:Tea', line, 'END:VEVENT'].join('\r\n');
    const fields = await fieldsOf(calendarReply([without('DTSTART:20240506T140000Z'), without('X-A:1')]));
    expect(fields.map(({ id, title }) => [id, title])).toEqual([[expect.stringMatching(/^[0-9a-f]{32}$/), 'Tea']]);
  });

  it('calendar reports a file that ends before its closing line, and keeps its events', async () => {
    const [step] = startOf(URL_INPUT);
    const body = ['BEGIN:VCALENDAR', event('DTSTART:20240506T140000Z'), 'BEGIN:VEVENT', 'UID:2'].join('\n');
    const found = await EVENTS.run(
      step?.state ?? {},
      fakeSource(() => ({ body })),
      { recordsLeft: Infinity },
    );
    expect(found).toMatchObject({ brokenOff: { reason: 'parse_failed' }, records: [{ id: '1' }, { id: '2' }] });
  });

  it('calendar reads at most 20,000 events, and reports the rest', async () => {
    const [step] = startOf(URL_INPUT);
    const titled = 'BEGIN:VEVENT\nUID:last\nSUMMARY:Last\nEND:VEVENT';
    const all = Array.from({ length: 20_000 }, (_, place) => `BEGIN:VEVENT\nUID:${place}\nEND:VEVENT`);
    const events = [...all, titled];
    const found = await EVENTS.run(
      step?.state ?? {},
      fakeSource(() => calendarReply(events)),
      { recordsLeft: Infinity },
    );
    expect(found.records).toHaveLength(20_000);
    expect(found).toMatchObject({ total: null, leftOut: expect.stringContaining('20000') });
    expect(found.records.at(-1)?.fields['title']).toBeNull();
  });

  it.each([
    ['BEGIN:VEVENT\n'.repeat(300_000), 'nested components'],
    [event(`X-A${';B=c'.repeat(500_000)}:1`), 'parameters'],
    [event(`EXDATE;TZID=Nowhere:${'20240506T140000,'.repeat(100_000)}`), 'times of an unknown zone'],
    [
      Array.from({ length: 20_000 }, (_, place) => event(`DTSTART;TZID=Nowhere/Z${place}:20240506T140000`)).join('\n'),
      'unknown zones',
    ],
  ])('calendar reads a file with very many of something in little time (%#)', async (events, what) => {
    const begunMs = process.cpuUsage().user / 1_000;
    const [step] = startOf(URL_INPUT);
    await EVENTS.run(
      step?.state ?? {},
      fakeSource(() => calendarReply([events])),
      { recordsLeft: Infinity },
    ).catch(() => null);
    expect([what, process.cpuUsage().user / 1_000 - begunMs < 5_000]).toEqual([what, true]);
  });

  it.each([
    ['<!doctype html><title>Sign in</title>', 'unsupported_content'],
    ['no calendar', 'parse_failed'],
    ['', 'parse_failed'],
  ])('calendar reads %j as %s', async (body, reason) => {
    const reply = { body, headers: { 'content-type': 'text/plain' } };
    await expect(fieldsOf(reply)).rejects.toMatchObject({ reason });
  });

  it('calendar reads webcal addresses over https', () => {
    expect(startOf({ url: 'webcal://club.example.org/events.ics' })[0]?.state).toEqual(URL_INPUT);
    expect(EVENTS.start({ url: 'ftp://club.example.org/events.ics' })).toMatchObject({
      kind: 'fault',
      pointer: '/url',
    });
  });
});

function startOf(input: JsonObject) {
  const begun = EVENTS.start(input);
  return begun.kind === 'steps' ? begun.steps : [];
}
