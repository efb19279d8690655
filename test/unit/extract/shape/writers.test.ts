import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/extract/base/connector.ts';
import {
  createWriter,
  encodeRecords,
  sliceRecords,
  type TextFormat,
  type WriterOptions,
} from '../../../../src/extract/shape/writers.ts';
import { ARTICLE, META, outputOf, RECORD, shaperOf } from './records.ts';

function stored(json: JsonObject, records: readonly JsonObject[]): Buffer {
  const shaper = shaperOf(json);
  return encodeRecords(
    records.map((record) => {
      const result = shaper.shape({ ...RECORD, ...record });
      if (result.kind !== 'record') throw new Error(result.detail);
      return result.value;
    }),
  );
}

function write(
  format: TextFormat,
  json: JsonObject,
  chunks: readonly Buffer[],
  more: Partial<WriterOptions> = {},
): string {
  const writer = createWriter({
    format,
    csv: outputOf(json).csv,
    columns: shaperOf(json).columns,
    page: null,
    ...more,
  });
  return Buffer.concat([
    writer.begin(true),
    ...chunks.map((chunk) => writer.records(chunk, null)),
    writer.end(),
  ]).toString();
}

const HEADER =
  'id,title,author.name,author.home.city,author.home.country,score,tags,data,_meta.id,_meta.seq,_meta.source_url,_meta.fetched_at';

describe('JSON writer', () => {
  test('a JSON page contains the records of all chunks and its tail', () => {
    const json = { fields: ['id'] };
    const chunks = [stored(json, [{ id: 'a' }, { id: 'b' }]), Buffer.alloc(0), stored(json, [{ id: 'c\n' }])];
    const page = JSON.parse(
      write('json', json, chunks, { page: { tail: ',"has_more":false,"next_cursor":null' } }),
    ) as {
      readonly records: readonly { readonly id: string }[];
    };
    expect(page).toMatchObject({ has_more: false, next_cursor: null });
    expect(page.records.map(({ id }) => id)).toEqual(['a', 'b', 'c\n']);
  });

  test('a JSON page may have no records, and a JSON file is an array', () => {
    expect(write('json', {}, [], { page: { tail: ',"has_more":false' } })).toBe('{"records":[],"has_more":false}');
    expect(write('json', {}, [])).toBe('[]');
    expect(JSON.parse(write('json', {}, [stored({}, [{}])]))).toEqual([RECORD]);
  });
});

describe('NDJSON writer', () => {
  test('NDJSON has one record per line, whatever line ends its texts contain', () => {
    const text = write('ndjson', {}, [stored({}, [{ title: 'a\r\nb\u2028c' }]), stored({}, [{}])]);
    const lines = text.split('\n');
    expect(lines.pop()).toBe('');
    expect(lines.map((line) => (JSON.parse(line) as { readonly title: string }).title)).toEqual([
      'a\r\nb\u2028c',
      'Tea, "green"',
    ]);
  });
});

describe('CSV writer', () => {
  test('CSV has the job’s columns and lines that end in CRLF', () => {
    expect(write('csv', {}, [stored({}, [{}])])).toBe(
      [
        HEADER,
        'a1,"Tea, ""green""",Ada,Bath,GB,-5,"[{""name"":""tea"",""weight"":1},{""name"":""cup"",""weight"":2}]","{""x"":{""y"":1}}",a1,1,https://example.com/a1,2026-11-21T06:00:00Z',
        '',
      ].join('\r\n'),
    );
  });

  test('CSV is the same for flat records', () => {
    const rows = (json: JsonObject): unknown =>
      parse(write('csv', json, [stored(json, [{}, { author: null, data: {} }])]), { columns: true });
    const [nested, flat] = [rows({}), rows({ flatten: true })] as [JsonObject[], JsonObject[]];
    expect({ ...flat[0], data: '' }).toEqual({ ...nested[0], data: '' });
    expect(flat[0]?.['data']).toBe('{"x.y":1}');
    expect(flat[1]?.['author.name']).toBe('');
  });

  test('CSV has the columns of the fields and their new names, even if no record has a value', () => {
    const json = { fields: ['author.name', 'tags.name', 'score'], rename: { score: 'points', 'tags.name': 'names' } };
    const [header, line] = write('csv', json, [stored(json, [{ author: null, score: null, tags: [] }])]).split('\r\n');
    expect(header).toBe('author.name,names,points,_meta.id,_meta.seq,_meta.source_url,_meta.fetched_at');
    expect(line).toBe(',[],,a1,1,https://example.com/a1,2026-11-21T06:00:00Z');
  });

  test.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-5', "'-5"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['\r=1', '"\'\r=1"'],
    ['\n=1', '"\'\n=1"'],
    ['\n1', '"\'\n1"'],
    ['  =1', "'  =1"],
    ['\u00A0\u3000+1', "'\u00A0\u3000+1"],
    ['\uFEFF=1', "'\uFEFF=1"],
    ['\u200B\u2060-1', "'\u200B\u2060-1"],
    ['\u0001@A1', "'\u0001@A1"],
    ['\u3164\u2800=1', "'\u3164\u2800=1"],
    [' \uFF1D1', "' \uFF1D1"],
    ['  tea', '  tea'],
    ['\uFEFFtea - green', '\uFEFFtea - green'],
    ['\0=1+1', "'=1+1"],
    ['=HYPERLINK("x","y")', '"\'=HYPERLINK(""x"",""y"")"'],
    ['a=1', 'a=1'],
    ['', ''],
  ])('CSV guards the text %j against formulas', (given, cell) => {
    const json = { fields: ['title'], csv: { header: false } };
    expect(write('csv', json, [stored(json, [{ title: given }])])).toBe(
      `${cell},a1,1,https://example.com/a1,2026-11-21T06:00:00Z\r\n`,
    );
  });

  test('CSV leaves numbers unchanged', () => {
    const json = { fields: ['score'], csv: { header: false } };
    const cells = write('csv', json, [
      stored(
        json,
        [-5, -0.5, 1e21, 0].map((score) => ({ score })),
      ),
    ])
      .split('\r\n')
      .map((line) => line.split(',')[0]);
    expect(cells).toEqual(['-5', '-0.5', '1e+21', '0', '']);
  });

  test.each([';', '\t', '|'])('CSV uses the delimiter %j, and quotes text that contains it', (delimiter) => {
    const json = { fields: ['title', 'id'], csv: { delimiter, header: false } };
    const text = write('csv', json, [stored(json, [{ title: `a${delimiter}b` }])]);
    expect(text.startsWith(`"a${delimiter}b"${delimiter}a1${delimiter}`)).toBe(true);
  });

  test('CSV has its byte order mark and header only on the first page', () => {
    const csv = { delimiter: ',', bom: true, header: true };
    const writer = createWriter({ format: 'csv', csv, columns: [], page: null });
    expect(writer.begin(true).toString()).toBe('\uFEFF_meta.id,_meta.seq,_meta.source_url,_meta.fetched_at\r\n');
    expect(writer.begin(false)).toHaveLength(0);
  });

  test('CSV contains booleans as true and false', () => {
    const schema = { ...ARTICLE, properties: { ok: { type: 'boolean' } } };
    const { columns } = shaperOf({}, schema);
    const writer = createWriter({ format: 'csv', csv: outputOf({}).csv, columns, page: null });
    const rows = writer
      .records(
        encodeRecords([
          { ok: true, _meta: META },
          { ok: false, _meta: META },
        ]),
        null,
      )
      .toString();
    expect(rows.split('\r\n').map((line) => line.split(',')[0])).toEqual(['true', 'false', '']);
  });
});

describe('sliceRecords', () => {
  const chunk = encodeRecords(Array.from({ length: 5 }, (_, index) => ({ n: index, _meta: { id: `r${index}` } })));
  const names = (bytes: Uint8Array): number[] =>
    Buffer.from(bytes)
      .toString()
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { n: number }).n);

  test('a chunk is cut between records, without a copy', () => {
    expect(names(sliceRecords(chunk, 1, 3))).toEqual([1, 2, 3]);
    expect(names(sliceRecords(chunk, 3, 100))).toEqual([3, 4]);
    expect(names(sliceRecords(chunk, 5, 1))).toEqual([]);
    expect(names(sliceRecords(chunk, 0, 0))).toEqual([]);
    expect(sliceRecords(chunk, 1, 3).buffer).toBe(chunk.buffer);
  });

  test.each<TextFormat>(['json', 'ndjson', 'csv'])(
    'the sequence numbers of a chunk’s records are added when it is written as %s',
    (format) => {
      const writer = createWriter({ format, csv: { ...outputOf({}).csv, header: false }, columns: [], page: null });
      const text = Buffer.concat([writer.begin(true), writer.records(chunk, 41), writer.end()]).toString();
      const found = format === 'csv' ? [...text.matchAll(/r\d,(\d+),/g)] : [...text.matchAll(/"seq":(\d+)\}\}/g)];
      expect(found.map(([, seq]) => Number(seq))).toEqual([41, 42, 43, 44, 45]);
    },
  );
});

describe('a page of records as Markdown', () => {
  const md = (record: JsonObject): string =>
    write('md', {}, [
      Buffer.from(`${JSON.stringify({ ...record, _meta: { id: 'a', source_url: 'https://a.example/' } })}\n`),
    ]);

  test('a document is the Markdown of the record behind its title, URL and date', () => {
    const record = {
      url: 'https://a.example/b',
      title: 'Say "no"',
      published_at: '2026-01-02',
      text: 'x',
      markdown: '# Hi',
    };
    expect(md(record)).toBe(
      '---\ntitle: "Say \\"no\\""\nurl: "https://a.example/b"\ndate: "2026-01-02"\n---\n\n# Hi\n\n',
    );
  });

  test('a record without Markdown has its text, and one without text its fields', () => {
    expect(md({ text: '# one\ntwo*' })).toBe('---\nurl: "https://a.example/"\n---\n\n\\# one\n\ntwo\\*\n\n');
    expect(md({ name: 'N', price: 3, gone: null })).toContain('---\n\n- **price**: 3\n\n');
  });
});
