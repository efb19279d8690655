import type { FakeReply } from '../support/fake-source.ts';
import type { SourceCase, World } from './source-case.ts';

/** A calendar. Shapes: RFC 5545, 3.1 (folded lines), 3.6.1 (events) and 3.6.5 (time zones), as calendars of several programs have them. */
export function calendarWorld(records: number): World {
  return ({ url }) =>
    new URL(url).pathname === '/events.ics'
      ? calendarReply(Array.from({ length: records }, (_, place) => event(place)))
      : null;
}

/** `head`: further lines of the calendar, before its events. */
export function calendarReply(events: readonly string[], head: readonly string[] = []): FakeReply {
  const lines = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Club//EN', 'X-WR-CALNAME:Club', ...head, ...events];
  const body = [...lines, 'END:VCALENDAR', ''].join('\r\n');
  return { body, headers: { 'content-type': 'text/calendar; charset=utf-8' } };
}

function event(place: number): string {
  return [
    'BEGIN:VEVENT',
    `UID:tea-${place}@club.example.org`,
    'DTSTAMP:20240401T080000Z',
    'DTSTART;TZID=Europe/Berlin:20240506T160000',
    'DTEND;TZID=Europe/Berlin:20240506T170000',
    'SUMMARY:Tea\\, at the harbour',
    'DESCRIPTION:Bring cups\\, and a\r\n  kettle.\\nNo\\; really\\\\.',
    'LOCATION:Harbour Café',
    'URL:https://club.example.org/tea',
    'GEO:53.55;9.99',
    'RRULE:FREQ=WEEKLY;BYDAY=MO',
    'EXDATE;TZID=Europe/Berlin:20240520T160000,20240527T160000',
    'STATUS:CONFIRMED',
    'ORGANIZER;CN="Mira; Quist":mailto:mira@example.com',
    'CATEGORIES:Tea,Cups\\, and more',
    'CREATED:20240401T080000Z',
    'LAST-MODIFIED:20240402T080000Z',
    'BEGIN:VALARM',
    'TRIGGER:-PT15M',
    'DESCRIPTION:Alarm',
    'END:VALARM',
    'END:VEVENT',
  ].join('\r\n');
}

export const calendarCases: readonly SourceCase[] = [
  {
    connector: 'calendar',
    operation: 'calendar.events',
    input: { url: 'https://club.example.org/events.ics' },
    world: calendarWorld,
    paging: 'none',
    sizeAsked: null,
    hostIn: 'url',
    announcesTotal: true,
  },
];
