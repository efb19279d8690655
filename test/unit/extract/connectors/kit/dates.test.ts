import { describe, expect, it } from 'vitest';
import { isoFromMs, isoFromSeconds, isoFromText } from '../../../../../src/extract/connectors/kit/dates.ts';

describe('dates of sources', () => {
  it.each([
    ['2024-05-02T08:00:00Z', '2024-05-02T08:00:00.000Z'],
    ['2024-05-02T10:00:00+02:00', '2024-05-02T08:00:00.000Z'],
    ['2024-05-02T03:00:00.250-05:00', '2024-05-02T08:00:00.250Z'],
    ['2024-05-02', '2024-05-02T00:00:00.000Z'],
    ['Thu, 02 May 2024 08:00:00 GMT', '2024-05-02T08:00:00.000Z'],
  ])('%s is %s', (text, iso) => expect(isoFromText(text)).toBe(iso));

  it.each(['2024-05-02T08:00:00', '2024-05-02 08:00:00', '2024-05-02T08:00'])(
    'reads %s, which has no zone, as UTC and not in the zone of the machine',
    (text) => expect(isoFromText(text)).toBe('2024-05-02T08:00:00.000Z'),
  );

  it.each([
    '',
    ' ',
    'soon',
    '0000-00-00T00:00:00',
    '+275000-01-01T00:00:00Z',
    '2024-13-45',
    5,
    null,
    undefined,
    {},
    ['2024'],
  ])('takes %j for no date', (value) => expect(isoFromText(value)).toBeNull());

  it('reads Unix seconds and milliseconds, and no number that no date has', () => {
    expect(isoFromSeconds(1_714_636_800)).toBe('2024-05-02T08:00:00.000Z');
    expect(isoFromMs(0)).toBe('1970-01-01T00:00:00.000Z');
    for (const value of [Number.NaN, Infinity, 8.64e15, -8.64e15, '5', null]) expect(isoFromMs(value)).toBeNull();
    expect(isoFromSeconds(Number.MAX_VALUE)).toBeNull();
  });
});
