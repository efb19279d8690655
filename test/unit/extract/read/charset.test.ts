import { describe, expect, test } from 'vitest';
import { decodeText, textDecoder } from '../../../../src/extract/read/charset.ts';

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
      'the header where it says another encoding and few characters would be UTF-8',
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

  const texts = {
    Chinese: '渡轮一周之内两次停航，四十人被留在对岸',
    Japanese: '渡し船が二度も止まり、四十人が取り残された',
    Korean: '여객선이 또 멈춰 승객들이 남겨졌다',
    Russian: 'Паром снова не вышел в море',
    Czech: 'Přívoz opět stojí a čtyřicet lidí čeká, říká převozník žlutý',
  };

  test.each([
    ['gb2312', texts.Chinese],
    ['gbk', texts.Chinese],
    ['gb18030', texts.Chinese],
    ['big5', texts.Chinese],
    ['shift_jis', texts.Japanese],
    ['euc-jp', texts.Japanese],
    ['iso-2022-jp', texts.Japanese],
    ['euc-kr', texts.Korean],
    ['windows-1251', texts.Russian],
    ['koi8-r', texts.Russian],
    ['iso-8859-2', texts.Czech],
  ])('by the bytes where %s is said, by the header or the page, and they are UTF-8', (label, text) => {
    const page = `<meta charset="${label}"><p>${text}`;
    expect(decodeText(Buffer.from(page), 'text/html')).toEqual({ text: page, charset: 'utf-8' });
    expect(decodeText(Buffer.from(text), `text/html; charset=${label}`)).toEqual({ text, charset: 'utf-8' });
    // In pieces, of which the first tells nothing and the second ends within a character.
    const bytes = Buffer.from(text);
    const decode = textDecoder(Buffer.from('<p>'), `text/html; charset=${label}`);
    const read =
      decode(Buffer.from('<p>'), false) + decode(bytes.subarray(0, -1), false) + decode(bytes.subarray(-1), true);
    if (label !== 'iso-2022-jp') expect(read).toBe(`<p>${text}`);
  });

  test.each([
    ['gb2312', '\xB6\xC9\xC2\xD6\xC5\xB7\xD4\xAA\xD2\xBB\xD6\xDC', 'gbk', '渡轮欧元一周'],
    ['gb2312', '\xC5\xB7\xD4\xAA', 'gbk', '欧元'],
    ['windows-1251', '\xCF\xE0\xF0\xEE\xEC \xF1\xED\xEE\xE2\xE0', 'windows-1251', 'Паром снова'],
    ['shift_jis', '\x93n\x82\xB5\x91D', 'shift_jis', '渡し船'],
    ['euc-kr', '\xBF\xA9\xB0\xB4\xBC\xB1', 'euc-kr', '여객선'],
  ])('by the label %s where the bytes are that', (label, text, charset, decoded) => {
    expect(decodeText(bytes(text), `text/html; charset=${label}`)).toEqual({ text: decoded, charset });
  });

  test('by the label where one broken character is among many of UTF-8', () => {
    const broken = Buffer.concat([Buffer.from(texts.Chinese), Buffer.from([0xff, 0x20])]);
    expect(decodeText(broken, 'text/html; charset=gb2312').charset).toBe('gbk');
  });

  test('by the label of UTF-16, though its bytes may be valid UTF-8', () => {
    const text = 'all of it in English';
    expect(decodeText(Buffer.from(text, 'utf16le'), 'text/html; charset=utf-16le')).toEqual({
      text,
      charset: 'utf-16le',
    });
  });

  test('keeps what is broken as U+FFFD', () => {
    expect(decodeText(bytes('\xC3\xA9\xC3\xA9a\xFFb'), 'text/html; charset=utf-8').text).toBe('ééa\uFFFDb');
  });
});
