import { describe, expect, test } from 'vitest';
import { readLabelRows, type LabelRowOptions } from '../../../src/replay/label-rows.ts';

const ID = 'req_01M7XWJVNGTMWB6Q2TT84ZKPK';
const [A, B, C] = [`${ID}0`, `${ID}1`, `${ID}2`];
const OPTIONS: LabelRowOptions = { map: [], label: null, source: null, noteCharactersMax: 500 };

function read(text: string, options: Partial<LabelRowOptions> = {}) {
  return readLabelRows(text, { ...OPTIONS, ...options });
}

describe('columns of a file of labels', () => {
  test('Request ids are found by their form, labels, sources and notes by the names of their columns', () => {
    const text = `\uFEFFOrder;Gatehouse Id;Is Fraud;Source;Reason\n1;${A};yes;chargeback;"card;\nstolen"\n2;${B};0;;\n`;
    expect(read(text)).toEqual({
      kind: 'ok',
      columns: new Map([
        ['request_id', 'Gatehouse Id'],
        ['label', 'Is Fraud'],
        ['source', 'Source'],
        ['note', 'Reason'],
      ]),
      rows: [
        { line: 3, requestId: A, label: 'fraud', note: 'chargeback: card;\nstolen' },
        { line: 4, requestId: B, label: 'legitimate', note: null },
      ],
      rejected: [],
    });
  });

  test('Columns can be named and ignored, and a label and a source given for all rows', () => {
    const text = `id,other,what,note\n${A},${B},chargeback,x\n`;
    expect(read(text, { map: ['other=request_id', 'what=label', 'note='] })).toMatchObject({
      rows: [{ requestId: B, label: 'fraud', note: null }],
    });
    expect(read(text, { label: 'legitimate', source: 'support' })).toMatchObject({
      rows: [{ requestId: A, label: 'legitimate', note: 'support: x' }],
    });
  });

  test('Missing and unknown columns are faults that name the columns of the file', () => {
    expect(read('a,label\n1,fraud\n')).toEqual({
      kind: 'fault',
      message: 'no column has request ids; the columns are a, label',
    });
    expect(read(`a\n${A}\n`)).toMatchObject({ message: expect.stringContaining('give --label') });
    expect(read(`a\n${A}\n`, { map: ['b=label'] })).toMatchObject({ message: expect.stringContaining('column "b"') });
    expect(read(`a\n${A}\n`, { map: ['a=colour'] })).toMatchObject({ message: expect.stringContaining('no field') });
    expect(read('')).toMatchObject({ message: 'no column has request ids; the columns are missing' });
  });
});

describe('rows of a file of labels', () => {
  test('A row without an id or with an unknown label, and one that contradicts an earlier one, are rejected with their lines', () => {
    const text = `id,label\n${A},fraud\n\nreq_1,fraud\n${B},perhaps\n${A},legitimate\n${A},bad\n${C},good\n`;
    expect(read(text)).toMatchObject({
      rows: [
        { line: 2, requestId: A, label: 'fraud' },
        { line: 8, requestId: C, label: 'legitimate' },
      ],
      rejected: [
        { line: 4, message: '"req_1" is not a request id' },
        { line: 5, message: 'its label is "perhaps", which is none of fraud, legitimate' },
        { line: 6, message: `line 2 has the other label for ${A}` },
      ],
    });
  });

  test('A note is cut to its bound, and a text that is no CSV is rejected', () => {
    const rows = read(`id,label,note\n${A},fraud,${'n'.repeat(600)}\n${B},fraud,"open\n`);
    expect(rows).toMatchObject({
      rows: [{ note: 'n'.repeat(500) }],
      rejected: [{ message: 'is not CSV (CSV_QUOTE_NOT_CLOSED)' }],
    });
  });
});
