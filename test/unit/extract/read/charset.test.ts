import { describe, expect, test } from 'vitest';
import { decodeText } from '../../../../src/extract/read/charset.ts';

const bytes = (text: string, encoding: BufferEncoding = 'latin1'): Uint8Array => Buffer.from(text, encoding);

describe('the charset', () => {
  test.each([
    [
      'a byte order mark before all else',
      bytes('\xEF\xBB\xBF\xC3\xA9'),
      'text/html; charset=windows-1251',
      'utf-8',
      'é',
    ],
    ['UTF-16, little end first', bytes('\xFF\xFE\xE9\x00'), null, 'utf-16le', 'é'],
    ['UTF-16, big end first', bytes('\xFE\xFF\x00\xE9'), null, 'utf-16be', 'é'],
    [
      'the header before the page',
      bytes('<meta charset="utf-8">\xE9'),
      'text/html; Charset="ISO-8859-1"',
      'windows-1252',
      '<meta charset="utf-8">é',
    ],
    [
      'an unknown label in the header counts for nothing',
      bytes('\xC3\xA9'),
      'text/html; charset=nonsense',
      'utf-8',
      'é',
    ],
    [
      'the page’s meta',
      bytes('<html><meta charset=shift_jis>\x82\xA0'),
      'text/html',
      'shift_jis',
      '<html><meta charset=shift_jis>あ',
    ],
    [
      'an XML declaration',
      bytes('<?xml version="1.0" encoding="koi8-r"?>\xC1'),
      null,
      'koi8-r',
      '<?xml version="1.0" encoding="koi8-r"?>а',
    ],
    [
      'UTF-16 in a page that is read as ASCII is UTF-8',
      bytes('<meta charset="utf-16">\xC3\xA9'),
      null,
      'utf-8',
      '<meta charset="utf-16">é',
    ],
    [
      'the bytes where the header says UTF-8 and they are not',
      bytes('caf\xE9, \x93tea\x94'),
      'text/html; charset=utf-8',
      'windows-1252',
      'café, “tea”',
    ],
    [
      'the page where the header says UTF-8 and the bytes are not',
      bytes('<meta charset="koi8-r">\xC1\xD3 \xC1'),
      'text/html; charset=utf-8',
      'koi8-r',
      '<meta charset="koi8-r">ас а',
    ],
    [
      'the bytes where the page says UTF-8 and they are not',
      bytes('<meta charset="utf-8">caf\xE9 '),
      null,
      'windows-1252',
      '<meta charset="utf-8">café ',
    ],
    [
      'the header where UTF-8 is cut at its end alone',
      bytes('tea \xE2\x82'),
      'text/html; charset=utf-8',
      'utf-8',
      'tea \uFFFD',
    ],
    [
      'the bytes where the page says Latin-1 and they are UTF-8',
      bytes('<meta charset="iso-8859-1">caf\xC3\xA9'),
      null,
      'utf-8',
      '<meta charset="iso-8859-1">café',
    ],
    [
      'the header where the bytes are Latin-1, though their end may be that of UTF-8',
      bytes('caf\xE9'),
      'text/html; charset=iso-8859-1',
      'windows-1252',
      'café',
    ],
    [
      'the header where it says another encoding, whatever the bytes may be',
      bytes('\xD0\xB0'),
      'text/html; charset=windows-1251',
      'windows-1251',
      'Р°',
    ],
    ['nothing, and valid UTF-8', bytes('\xE2\x82\xAC'), null, 'utf-8', '€'],
    ['nothing, and not UTF-8', bytes('\x80 \x93caf\xE9\x94'), null, 'windows-1252', '€ “café”'],
    ['nothing at all', bytes(''), null, 'utf-8', ''],
  ])('by %s', (_name, given, header, charset, text) => {
    expect(decodeText(given, header)).toEqual({ text, charset });
  });

  test('by http-equiv, not by a comment, and not behind the first 1,024 bytes', () => {
    const meta = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">';
    expect(decodeText(bytes(`${meta}\xE4`), null).charset).toBe('windows-1251');
    expect(decodeText(bytes(`<!-- <meta charset="koi8-r"> -->${meta}\xE4`), null).charset).toBe('windows-1251');
    expect(decodeText(bytes(`${' '.repeat(1_024)}${meta}\xE4`), null).charset).toBe('windows-1252');
  });

  test.each(['ISO-8859-1', 'windows-1252', 'us-ascii'])(
    'by the bytes where the header says %s and they are UTF-8',
    (label) => {
      const utf8 = bytes('caf\xC3\xA9 \xE2\x82\xAC');
      expect(decodeText(utf8, `text/html; charset=${label}`)).toEqual({ text: 'café €', charset: 'utf-8' });
    },
  );

  test('keeps what is broken as U+FFFD', () => {
    expect(decodeText(bytes('\xC3\xA9\xC3\xA9a\xFFb'), 'text/html; charset=utf-8').text).toBe('ééa\uFFFDb');
  });
});
