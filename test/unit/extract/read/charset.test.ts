import { describe, expect, test } from 'vitest';
import { decodeText, textDecoder } from '../../../../src/extract/read/charset.ts';

const bytes = (text: string, encoding: BufferEncoding = 'latin1'): Uint8Array => Buffer.from(text, encoding);

describe('decodeText', () => {
  test.each([
    [
      'a byte order mark, before anything else',
      bytes('\xEF\xBB\xBF\xC3\xA9'),
      'text/html; charset=windows-1251',
      'utf-8',
      'é',
    ],
    ['the byte order mark of UTF-16 little-endian', bytes('\xFF\xFE\xE9\x00'), null, 'utf-16le', 'é'],
    ['the byte order mark of UTF-16 big-endian', bytes('\xFE\xFF\x00\xE9'), null, 'utf-16be', 'é'],
    [
      'the header before the page',
      bytes('<meta charset="utf-8">\xE9'),
      'text/html; Charset="ISO-8859-1"',
      'windows-1252',
      '<meta charset="utf-8">é',
    ],
    ['the bytes if the header has an unknown label', bytes('\xC3\xA9'), 'text/html; charset=nonsense', 'utf-8', 'é'],
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
      'a declaration of UTF-16 that is readable as ASCII, as UTF-8',
      bytes('<meta charset="utf-16">\xC3\xA9'),
      null,
      'utf-8',
      '<meta charset="utf-16">é',
    ],
    [
      'the bytes if the header declares UTF-8 and they are not',
      bytes('caf\xE9, \x93tea\x94'),
      'text/html; charset=utf-8',
      'windows-1252',
      'café, “tea”',
    ],
    [
      'the page if the header declares UTF-8 and the bytes are not',
      bytes('<meta charset="koi8-r">\xC1\xD3 \xC1'),
      'text/html; charset=utf-8',
      'koi8-r',
      '<meta charset="koi8-r">ас а',
    ],
    [
      'the bytes if the page declares UTF-8 and they are not',
      bytes('<meta charset="utf-8">caf\xE9 '),
      null,
      'windows-1252',
      '<meta charset="utf-8">café ',
    ],
    [
      'the header if UTF-8 is only cut off at its end',
      bytes('tea \xE2\x82'),
      'text/html; charset=utf-8',
      'utf-8',
      'tea \uFFFD',
    ],
    [
      'the bytes if the page declares Latin-1 and they are UTF-8',
      bytes('<meta charset="iso-8859-1">caf\xC3\xA9'),
      null,
      'utf-8',
      '<meta charset="iso-8859-1">café',
    ],
    [
      'the header if the bytes are Latin-1, even if they end like cut-off UTF-8',
      bytes('caf\xE9'),
      'text/html; charset=iso-8859-1',
      'windows-1252',
      'café',
    ],
    [
      'the header if it declares another encoding and few characters would be UTF-8',
      bytes('\xD0\xB0'),
      'text/html; charset=windows-1251',
      'windows-1251',
      'Р°',
    ],
    ['valid UTF-8 without a declaration', bytes('\xE2\x82\xAC'), null, 'utf-8', '€'],
    ['invalid UTF-8 without a declaration', bytes('\x80 \x93caf\xE9\x94'), null, 'windows-1252', '€ “café”'],
    ['nothing for an empty text', bytes(''), null, 'utf-8', ''],
  ])('the encoding is determined by %s', (_name, given, header, charset, text) => {
    expect(decodeText(given, header)).toEqual({ text, charset });
  });

  test('the encoding is read from http-equiv, but not from a comment or after the first 1,024 bytes', () => {
    const meta = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">';
    expect(decodeText(bytes(`${meta}\xE4`), null).charset).toBe('windows-1251');
    expect(decodeText(bytes(`<!-- <meta charset="koi8-r"> -->${meta}\xE4`), null).charset).toBe('windows-1251');
    expect(decodeText(bytes(`${' '.repeat(1_024)}${meta}\xE4`), null).charset).toBe('windows-1252');
  });

  test.each(['ISO-8859-1', 'windows-1252', 'us-ascii'])(
    'valid UTF-8 is decoded as such although the header declares %s',
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
  ])('valid UTF-8 is decoded as such although the header or the page declares %s', (label, text) => {
    const page = `<meta charset="${label}"><p>${text}`;
    expect(decodeText(Buffer.from(page), 'text/html')).toEqual({ text: page, charset: 'utf-8' });
    expect(decodeText(Buffer.from(text), `text/html; charset=${label}`)).toEqual({ text, charset: 'utf-8' });
    // Arrives in chunks: the first is inconclusive and the second ends within a character.
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
  ])('the declared encoding %s is used if the bytes match it', (label, text, charset, decoded) => {
    expect(decodeText(bytes(text), `text/html; charset=${label}`)).toEqual({ text: decoded, charset });
  });

  test('text declared as UTF-8 is UTF-8 even if one of many characters is invalid', () => {
    const broken = Buffer.concat([Buffer.from(texts.Chinese), Buffer.from([0xff, 0x20])]);
    expect(decodeText(broken, 'text/html; charset=gb2312').charset).toBe('gbk');
  });

  test('text declared as UTF-16 is UTF-16 even if its bytes are valid UTF-8', () => {
    const text = 'all of it in English';
    expect(decodeText(Buffer.from(text, 'utf16le'), 'text/html; charset=utf-16le')).toEqual({
      text,
      charset: 'utf-16le',
    });
  });

  test('invalid bytes become U+FFFD', () => {
    expect(decodeText(bytes('\xC3\xA9\xC3\xA9a\xFFb'), 'text/html; charset=utf-8').text).toBe('ééa\uFFFDb');
  });
});
