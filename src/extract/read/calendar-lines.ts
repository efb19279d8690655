/**
 * Reads the lines of an iCalendar file (RFC 5545) as its components. Linear in the length of the text. Other components, such as alarms,
 * are skipped with all that is in them.
 */

/** One line: `NAME;PARAMETER=value:value`. */
export interface CalendarProperty {
  /** In upper case. */
  readonly name: string;
  /** Names in upper case, values without quotation marks. */
  readonly parameters: ReadonlyMap<string, string>;
  /** As written, with its escapes. */
  readonly value: string;
}

export type CalendarComponent = readonly CalendarProperty[];

export interface CalendarFile {
  /** Properties of the calendar itself. */
  readonly head: CalendarComponent;
  readonly events: readonly CalendarComponent[];
  readonly zones: readonly CalendarZone[];
  /** Whether there are more events than `eventsMax`. */
  readonly isCut: boolean;
  /** Whether the last component is closed. */
  readonly isWhole: boolean;
}

/** Definition of a time zone, with its observances (standard and daylight time). */
export interface CalendarZone {
  readonly head: CalendarComponent;
  readonly observances: readonly CalendarComponent[];
}

/** Returns null if the text is not a calendar. */
export function readCalendarLines(text: string, eventsMax: number): CalendarFile | null {
  const lines = text
    .replace(/^\uFEFF/, '')
    .replaceAll(/(?:\r\n|\r|\n)[ \t]/g, '')
    .split(/\r\n|\r|\n/);
  const start = lines.findIndex((line) => line.trim() !== '');
  if (lines[start]?.trim().toUpperCase() !== 'BEGIN:VCALENDAR') return null;
  const head: CalendarProperty[] = [];
  const events: CalendarProperty[][] = [];
  const zones: { head: CalendarProperty[]; observances: CalendarProperty[][] }[] = [];
  const open: string[] = [];
  let isCut = false;
  for (const line of lines) {
    const property = readProperty(line);
    if (property === null) continue;
    const { name, value } = property;
    if (name === 'END') {
      open.pop();
    } else if (name === 'BEGIN') {
      open.push(value.trim().toUpperCase());
      const path = pathOf(open);
      if (path === EVENT) {
        if (events.length >= eventsMax) isCut = true;
        else events.push([]);
      }
      if (path === ZONE) zones.push({ head: [], observances: [] });
      if (OBSERVANCES.has(path)) zones.at(-1)?.observances.push([]);
    } else {
      const path = pathOf(open);
      if (path === 'VCALENDAR') head.push(property);
      else if (path === EVENT && !isCut) events.at(-1)?.push(property);
      else if (path === ZONE) zones.at(-1)?.head.push(property);
      else if (OBSERVANCES.has(path)) zones.at(-1)?.observances.at(-1)?.push(property);
    }
  }
  return { head, events, zones, isCut, isWhole: open.length === 0 };
}

const EVENT = 'VCALENDAR VEVENT';
const ZONE = 'VCALENDAR VTIMEZONE';
const OBSERVANCES: ReadonlySet<string> = new Set([`${ZONE} STANDARD`, `${ZONE} DAYLIGHT`]);
const DEPTH_MAX = 3;

/** Returns the names of the open components; '' below those that are read, so that deep nesting costs nothing. */
function pathOf(open: readonly string[]): string {
  return open.length > DEPTH_MAX ? '' : open.join(' ');
}

/** Returns null for a line without a name and a colon. A colon or a semicolon in quotation marks belongs to a parameter. */
function readProperty(line: string): CalendarProperty | null {
  const pieces: string[] = [];
  let from = 0;
  let isQuoted = false;
  for (let at = 0; at < line.length; at++) {
    const sign = line[at];
    if (sign === '"') isQuoted = !isQuoted;
    if (isQuoted || (sign !== ';' && sign !== ':')) continue;
    pieces.push(line.slice(from, at));
    from = at + 1;
    if (sign !== ':') continue;
    const [name = '', ...rest] = pieces;
    if (!/^[A-Za-z0-9-]+$/.test(name)) return null;
    return { name: name.toUpperCase(), parameters: new Map(rest.map(readParameter)), value: line.slice(from) };
  }
  return null;
}

function readParameter(piece: string): readonly [string, string] {
  const [name = '', ...value] = piece.split('=');
  return [name.toUpperCase(), value.join('=').replaceAll('"', '')];
}

/** Returns the first property with the name. */
export function propertyOf(component: CalendarComponent, name: string): CalendarProperty | undefined {
  return component.find((property) => property.name === name);
}

/** Returns the text of a property; null if it has none. Source: RFC 5545, 3.3.11. */
export function calendarText(property: CalendarProperty | undefined): string | null {
  const text = property === undefined ? '' : unescaped(property.value).trim();
  return text === '' ? null : text;
}

/** Returns the texts of a property that is a list, whose commas are not escaped. */
export function calendarTexts(property: CalendarProperty): readonly string[] {
  return property.value.split(/(?<!\\),/).flatMap((part) => {
    const text = unescaped(part).trim();
    return text === '' ? [] : [text];
  });
}

function unescaped(value: string): string {
  return value.replaceAll(/\\([\\;,nN])/g, (_, sign: string) => (sign === 'n' || sign === 'N' ? '\n' : sign));
}
