import { expect, test } from 'vitest';
import { completeBody, errorCodeOf, readS3Answer } from '../../../../src/extract/sinks/s3-answer.ts';

const read = (text: string): ReturnType<typeof readS3Answer> => readS3Answer(Buffer.from(text));

test('readS3Answer returns the root element and the text of its direct children', () => {
  const answer = read(
    '\n <?xml version="1.0"?>\n<R xmlns="http://s3"><UploadId>a&amp;b</UploadId><Owner><ID>x</ID></Owner></R>\n',
  );
  expect(answer?.root).toBe('R');
  expect(answer?.values.get('UploadId')).toBe('a&b');
  expect(answer?.values.has('ID')).toBe(false);
});

test.each(['', 'OK', '<html><body>', '{"a":1}', '<a>&undefined;</a>', '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'])(
  'readS3Answer returns null for %s, which is not XML',
  (text) => {
    expect(read(text)).toBeNull();
  },
);

test('an error has a code, and an invalid code is not repeated', () => {
  expect(errorCodeOf(read('<Error><Code>SlowDown</Code><Message>secret</Message></Error>'))).toBe('SlowDown');
  expect(errorCodeOf(read('<Error><Code>two words\n</Code></Error>'))).toBe('unreadable');
  expect(errorCodeOf(read('<Error/>'))).toBe('unreadable');
  expect(errorCodeOf(read('<Other><Code>SlowDown</Code></Other>'))).toBeNull();
});

test('a response with many elements and long texts is truncated', () => {
  const answer = read(
    `<R>${Array.from({ length: 5_000 }, (_, at) => `<v${at}>${'x'.repeat(100)}</v${at}>`).join('')}</R>`,
  );
  expect(answer?.values.size).toBe(64);
  const long = read(`<R><v>${'x&amp;'.repeat(50_000)}</v></R>`)?.values.get('v') ?? '';
  expect(long.length).toBeLessThan(200_000);
});

test('completeBody names the parts from 1, with their ETags unchanged', () => {
  const body = completeBody(['"a<b"', 'c']);
  expect(body).toContain('<Part><PartNumber>1</PartNumber><ETag>&quot;a&lt;b&quot;</ETag></Part>');
  expect(body).toContain('<Part><PartNumber>2</PartNumber><ETag>c</ETag></Part>');
});
