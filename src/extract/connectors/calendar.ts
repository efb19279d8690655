import { hash } from 'node:crypto';
import {
  SourceFailure,
  type Connector,
  type FoundRecord,
  type JsonObject,
  type Source,
  type StepResult,
} from '../base/connector.ts';
import {
  calendarText,
  calendarTexts,
  propertyOf,
  readCalendarLines,
  type CalendarComponent,
  type CalendarProperty,
} from '../read/calendar-lines.ts';
import {
  afterDuration,
  calendarClock,
  calendarTime,
  calendarTimes,
  nextDay,
  type CalendarClock,
  type CalendarTime,
} from '../read/calendar-times.ts';
import { normalisedUrl } from '../read/urls.ts';
import { PAGE_URL_CHARACTERS_MAX, parseAddress } from './generic/page-address.ts';
import { brokenOffNote } from './generic/truncated.ts';
import { unreadable, urlOf } from './kit/json.ts';
import { recordOf } from './kit/record.ts';
import * as schema from './kit/schema.ts';

/** Choice: calendars of public holidays and of events have hundreds of events, those of rooms and of traffic some thousands. */
const EVENTS_MAX = 20_000;
const ACCEPT = 'text/calendar, text/plain;q=0.5, */*;q=0.1';

const EVENT = schema.recordSchema({
  id: schema.idField(
    'The id that the calendar gives it; of a changed occurrence, followed by the time that it replaces.',
  ),
  url: schema.urlField('Its page; without one, the calendar.'),
  title: schema.textField('As the calendar shows it.'),
  text: schema.textField('Its description.'),
  location: schema.textField('Where it takes place, in words.'),
  starts_at: schema.dateField('When it begins; of an event of whole days, midnight of the first one.'),
  ends_at: schema.dateField('When it ends; of an event of whole days, midnight after the last one.'),
  is_all_day: schema.flagField('Whether it lasts whole days, without times.'),
  time_zone: schema.textField(
    'The zone in which the calendar has its beginning; null for UTC, for days and if none is named.',
  ),
  recurrence: schema.textField(
    'Rule by which it is repeated (RFC 5545, `RRULE`), for example `FREQ=WEEKLY;BYDAY=MO`. Occurrences are not expanded.',
  ),
  excluded_at: schema.textsField('Beginnings of occurrences that do not take place. ISO 8601, UTC.'),
  added_at: schema.textsField('Beginnings of further occurrences. ISO 8601, UTC.'),
  replaces_at: schema.dateField('When a changed occurrence would have begun; null for any other event.'),
  status: schema.textField('`confirmed`, `tentative` or `cancelled`.'),
  organizer: schema.textField('Name of the organiser.'),
  categories: schema.textsField('Names.'),
  latitude: schema.numberField('Degrees north.'),
  longitude: schema.numberField('Degrees east.'),
  created_at: schema.dateField('When it was entered.'),
  updated_at: schema.dateField('When it was last changed.'),
  calendar_title: schema.textField('Name of the calendar.'),
  calendar_url: schema.urlField('The calendar.'),
});

interface CalendarStep extends JsonObject {
  readonly url: string;
}

async function readCalendar({ url: asked }: CalendarStep, source: Source): Promise<StepResult> {
  const page = await source.text(asked, { accept: ACCEPT });
  const file = readCalendarLines(page.text, EVENTS_MAX);
  if (file === null) {
    const isPage = page.contentType.includes('html') || /^\s*<(?:!doctype|html)/i.test(page.text);
    throw new SourceFailure(isPage ? 'unsupported_content' : 'parse_failed', `${page.url} is not a calendar`, false);
  }
  const clock = calendarClock(file.head, file.zones);
  const title = calendarText(propertyOf(file.head, 'X-WR-CALNAME')) ?? calendarText(propertyOf(file.head, 'NAME'));
  const records = file.events.flatMap((event) => readEvent(event, clock, { title, url: page.url }) ?? []);
  if (records.length === 0 && file.events.length > 0)
    throw unreadable(`none of ${file.events.length} events could be read`);
  return {
    records,
    next: [],
    total: file.isCut ? null : records.length,
    ...(file.isCut && { leftOut: `events of ${page.url} after the first ${EVENTS_MAX}` }),
    ...(!file.isWhole && { brokenOff: brokenOffNote(page.url) }),
  };
}

function readEvent(
  event: CalendarComponent,
  clock: CalendarClock,
  calendar: { readonly title: string | null; readonly url: string },
): FoundRecord | null {
  const start = propertyOf(event, 'DTSTART');
  const begins = calendarTime(start, clock);
  const replaced = calendarTime(propertyOf(event, 'RECURRENCE-ID'), clock);
  const title = calendarText(propertyOf(event, 'SUMMARY'));
  const uid = calendarText(propertyOf(event, 'UID')) ?? (begins === null ? null : contentId(title, begins));
  const { latitude, longitude } = readPlace(propertyOf(event, 'GEO'));
  return recordOf(
    uid === null || replaced === null ? uid : `${uid} ${replaced.iso}`,
    urlOf(calendarText(propertyOf(event, 'URL')) ?? undefined) ?? calendar.url,
    {
      title,
      text: calendarText(propertyOf(event, 'DESCRIPTION')),
      location: calendarText(propertyOf(event, 'LOCATION')),
      starts_at: begins?.iso ?? null,
      ends_at: endOf(event, begins, clock),
      is_all_day: begins?.isDay ?? null,
      time_zone: begins === null || begins.isDay ? null : zoneOf(start, clock),
      recurrence: calendarText(propertyOf(event, 'RRULE')),
      excluded_at: timesOf(event, 'EXDATE', clock),
      added_at: timesOf(event, 'RDATE', clock),
      replaces_at: replaced?.iso ?? null,
      status: calendarText(propertyOf(event, 'STATUS'))?.toLowerCase() ?? null,
      organizer: organizerOf(event),
      categories: event.filter(({ name }) => name === 'CATEGORIES').flatMap(calendarTexts),
      latitude,
      longitude,
      created_at: calendarTime(propertyOf(event, 'CREATED'), clock)?.iso ?? null,
      updated_at: calendarTime(propertyOf(event, 'LAST-MODIFIED'), clock)?.iso ?? null,
      calendar_title: calendar.title,
      calendar_url: calendar.url,
    },
  );
}

/** An event may have an end, a duration or neither. A day without either lasts one day. Source: RFC 5545, 3.6.1. */
function endOf(event: CalendarComponent, begins: CalendarTime | null, clock: CalendarClock): string | null {
  const end = calendarTime(propertyOf(event, 'DTEND'), clock);
  if (end !== null || begins === null) return end?.iso ?? null;
  const duration = propertyOf(event, 'DURATION');
  if (duration !== undefined) return afterDuration(begins, duration.value);
  return begins.isDay ? nextDay(begins) : null;
}

function zoneOf(start: CalendarProperty | undefined, clock: CalendarClock): string | null {
  if (start === undefined || /Z$/i.test(start.value.trim())) return null;
  return start.parameters.get('TZID') ?? clock.zone;
}

function timesOf(event: CalendarComponent, name: string, clock: CalendarClock): readonly string[] {
  return event.filter((one) => one.name === name).flatMap((one) => calendarTimes(one, clock).map(({ iso }) => iso));
}

/** Addresses of e-mail are left out, also where one is the name. */
function organizerOf(event: CalendarComponent): string | null {
  const name = propertyOf(event, 'ORGANIZER')?.parameters.get('CN')?.trim() ?? '';
  return name === '' || name.includes('@') ? null : name;
}

/** `52.5;13.4`: latitude and longitude. */
function readPlace(property: CalendarProperty | undefined): Record<'latitude' | 'longitude', number | null> {
  const match = /^\s*(-?\d{1,2}(?:\.\d{1,10})?);(-?\d{1,3}(?:\.\d{1,10})?)\s*$/.exec(property?.value ?? '');
  return { latitude: match === null ? null : Number(match[1]), longitude: match === null ? null : Number(match[2]) };
}

function contentId(title: string | null, begins: CalendarTime): string {
  return hash('sha256', JSON.stringify([title, begins.iso]), 'hex').slice(0, 32);
}

export const calendar: Connector = {
  id: 'calendar',
  title: 'Calendars',
  description: 'Events of any public calendar in the iCalendar format (`.ics`).',
  docsUrl: 'https://www.rfc-editor.org/rfc/rfc5545',
  terms: {
    termsUrl: null,
    attribution: null,
    ratePolicy: 'robots.txt and its Crawl-delay are obeyed. Requests are spaced per registrable domain.',
  },
  operations: [
    {
      name: 'calendar.events',
      description:
        'The events of a calendar, in its order; at most 20,000. An event that is repeated is one record with its rule, and each changed occurrence is one more.',
      tier: 'basic',
      paging: 'One request, which gives all events and so the total.',
      input: schema.inputSchema(
        {
          url: {
            type: 'string',
            minLength: 1,
            maxLength: PAGE_URL_CHARACTERS_MAX,
            description: 'Address of the calendar; `webcal:` and a bare host name mean https.',
          },
        },
        ['url'],
      ),
      record: EVENT,
      example: {
        input: { url: 'https://club.example.org/events.ics' },
        record: {
          id: 'tea-1@club.example.org',
          url: 'https://club.example.org/tea',
          title: 'Tea time',
          text: 'Bring cups.',
          location: 'Harbour Café',
          starts_at: '2024-05-06T14:00:00Z',
          ends_at: '2024-05-06T15:00:00Z',
          is_all_day: false,
          time_zone: 'Europe/Berlin',
          recurrence: 'FREQ=WEEKLY;BYDAY=MO',
          excluded_at: ['2024-05-20T14:00:00Z'],
          added_at: [],
          replaces_at: null,
          status: 'confirmed',
          organizer: 'Mira',
          categories: ['Tea'],
          latitude: 53.55,
          longitude: 9.99,
          created_at: '2024-04-01T08:00:00Z',
          updated_at: '2024-04-02T08:00:00Z',
          calendar_title: 'Club',
          calendar_url: 'https://club.example.org/events.ics',
        },
      },
      start(input) {
        const given = typeof input['url'] === 'string' ? input['url'].trim().replace(/^webcals?:/i, 'https:') : '';
        const parsed = parseAddress({ url: given });
        if (parsed.kind === 'fault') return { kind: 'fault', pointer: '/url', message: parsed.message };
        return { kind: 'steps', steps: [{ key: normalisedUrl(parsed.url), state: { url: parsed.url } }] };
      },
      run: (step, source) => readCalendar(step as CalendarStep, source),
    },
  ],
};
