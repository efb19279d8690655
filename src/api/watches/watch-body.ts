import type * as z from 'zod';
import type { FieldError } from '../../contract/problem.ts';
import { WATCH_PATCH, WATCH_REQUEST } from '../../contract/requests/watch-requests.ts';
import { invalid, validate, type Validated } from '../../contract/validate.ts';
import { WATCH_CHANGE_KINDS } from '../../contract/vocabulary.ts';
import { checkRequest, type RequestParts } from '../../extract/request/read-request.ts';
import { WATCH_RECORDS_MAX, type WatchSchedule, type WatchSettings } from '../../work/watch.ts';
import { readCron, readEvery } from '../../work/watch-schedule.ts';
import type { BodyReader } from '../kit/request-body.ts';

/** Parsers for the bodies of watches. Source: contract, 11.7. */

/** Choice: a request of 1,000 addresses fits, and 100 watches of a customer take at most 6.4 MB. */
const EXTRACTION_BYTES_MAX = 65_536;

export function watchBody(parts: RequestParts): BodyReader<Validated<WatchSettings>> {
  return {
    name: 'watch',
    shape: 'object',
    schema: WATCH_REQUEST,
    read(body) {
      const read = validate(WATCH_REQUEST, body);
      if (read.kind === 'problem') return read;
      const { name, every, cron, key, compare, emit, paused } = read.value;
      const schedule = readSchedule(every, cron);
      if (schedule === null) return invalid([fieldFault('/every', 'required', 'Give every or cron.')]);
      if (schedule.kind === 'problem') return schedule;
      const extraction = readWatched(memberOf(body), parts);
      if (extraction.kind === 'problem') return extraction;
      const value: WatchSettings = {
        name: name ?? null,
        extraction: extraction.value,
        schedule: schedule.value,
        key,
        compare: compare ?? null,
        emit: emit ?? WATCH_CHANGE_KINDS,
        isPaused: paused ?? false,
      };
      return { kind: 'ok', value };
    },
  };
}

export function watchChangeBody(parts: RequestParts): BodyReader<Validated<Partial<WatchSettings>>> {
  return {
    name: 'watch_change',
    shape: 'object',
    schema: WATCH_PATCH,
    read(body) {
      const read = validate(WATCH_PATCH, body);
      if (read.kind === 'problem') return read;
      const { name, every, cron, key, compare, emit, paused } = read.value;
      const schedule = readSchedule(every, cron);
      if (schedule?.kind === 'problem') return schedule;
      const extraction = read.value.extraction === undefined ? null : readWatched(memberOf(body), parts);
      if (extraction?.kind === 'problem') return extraction;
      const value: Partial<WatchSettings> = {
        ...(name !== undefined && { name }),
        ...(extraction !== null && { extraction: extraction.value }),
        ...(schedule !== null && { schedule: schedule.value }),
        ...(key !== undefined && { key }),
        ...(compare !== undefined && { compare }),
        ...(emit !== undefined && { emit: emit ?? WATCH_CHANGE_KINDS }),
        ...(paused !== undefined && { isPaused: paused ?? false }),
      };
      return { kind: 'ok', value };
    },
  };
}

type Given = z.output<typeof WATCH_REQUEST>;

/** Returns null if neither is given. */
function readSchedule(every: Given['every'], cron: Given['cron']): Validated<WatchSchedule> | null {
  const [byTime, byLine] = [every ?? null, cron ?? null];
  if (byTime !== null && byLine !== null)
    return invalid([fieldFault('/cron', 'invalid_value', 'This must not stand beside every.')]);
  if (byTime !== null) {
    const seconds = readEvery(byTime);
    if (seconds !== null) return { kind: 'ok', value: { kind: 'every', seconds } };
    return invalid([
      fieldFault(
        '/every',
        'invalid_value',
        'This must be minutes, hours or days such as 15m, 6h, 1d; from 5m to 365d.',
      ),
    ]);
  }
  if (byLine === null) return null;
  if (readCron(byLine) !== null) return { kind: 'ok', value: { kind: 'cron', line: byLine.trim() } };
  const message = 'This must be five cron fields whose times come, at least 5 minutes apart.';
  return invalid([fieldFault('/cron', 'invalid_value', message)]);
}

/** Checks what each run extracts as `POST /v1/extractions` does, and refuses what a watch has no use for. */
function readWatched(given: unknown, parts: RequestParts): Validated<Readonly<Record<string, unknown>>> {
  const extraction = given as Readonly<Record<string, unknown>>;
  const { delivery, output } = extraction;
  const errors: FieldError[] = [];
  if (delivery !== undefined && delivery !== null)
    errors.push(
      fieldFault('/extraction/delivery', 'invalid_value', 'A watch keeps its changes itself: leave this out.'),
    );
  if (typeof output === 'object' && output !== null && 'schema' in output && output.schema !== null)
    errors.push(
      fieldFault('/extraction/output/schema', 'invalid_value', 'A watch compares records as they are: leave this out.'),
    );
  if (Buffer.byteLength(JSON.stringify(extraction)) > EXTRACTION_BYTES_MAX)
    errors.push(fieldFault('/extraction', 'too_large', `This must have at most ${EXTRACTION_BYTES_MAX} bytes.`));
  if (errors.length > 0) return invalid(errors);
  const checked = checkRequest(extraction, parts);
  if (checked.kind === 'problem') {
    const { problem } = checked;
    const moved = problem.errors?.map((error) => ({ ...error, pointer: `/extraction${error.pointer}` }));
    return { kind: 'problem', problem: { ...problem, ...(moved && { errors: moved }) } };
  }
  const { collect } = checked.value;
  if (collect.mode === 'limit' && collect.limit > WATCH_RECORDS_MAX) {
    const message = `A watch compares at most ${WATCH_RECORDS_MAX} records.`;
    return invalid([fieldFault('/extraction/collect/limit', 'too_large', message)]);
  }
  return { kind: 'ok', value: extraction };
}

function memberOf(body: unknown): unknown {
  return (body as Readonly<Record<string, unknown>>)['extraction'];
}

function fieldFault(pointer: string, code: string, message: string): FieldError {
  return { pointer, code, message };
}
