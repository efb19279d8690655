import { describe, expect, test } from 'vitest';
import { ColdHeaders } from '../../../src/kernel/cold-headers.ts';
import type { Exchange } from '../../../src/http/exchange.ts';
import { type StaticFile, staticFile } from '../../../src/http/static-files.ts';
import { ANSWER_PIECE_BYTES } from '../../../src/kernel/limits.ts';
import { sendWhole } from '../../support/slices.ts';
import { HEAD } from '../decide/support.ts';

interface Seen {
  readonly status: number;
  readonly fields: string;
  readonly body: string;
  readonly isStreamed: boolean;
}

const CONTENT = { identity: Buffer.from('as it is'), br: Buffer.from('in brotli'), gzip: Buffer.from('in gzip') };
const FILE: StaticFile = { contentType: 'text/css', isImmutable: false, load: () => CONTENT };

function ask(file: StaticFile, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Seen {
  let seen: Seen = { status: 0, fields: '', body: '', isStreamed: false };
  const exchange: Exchange = {
    aborted: false,
    remoteAddress: () => '',
    peerAddress: () => '',
    pauseUntil: () => {},
    readBody: () => {},
    addFields: () => {},
    send: (status, fields, body) => void (seen = { status, fields, body: String(body), isStreamed: false }),
    sendStream(status, fields, body) {
      seen = { status, fields, body: '', isStreamed: true };
      return sendWhole((...sent) => void (seen = { ...seen, body: sent[2] }))(status, fields, body);
    },
  };
  const cold = new ColdHeaders();
  for (const [name, value] of Object.entries(headers)) cold.add(name, value);
  staticFile(file)({ ...HEAD, method, path: '/style.css', cold }, exchange);
  return seen;
}

function etagOf({ fields }: Seen): string {
  return /\r\nETag: (\S+)/.exec(fields)?.[1] ?? '';
}

describe('a static file', () => {
  test.each([
    ['', 'as it is'],
    ['br', 'in brotli'],
    ['gzip, deflate, br, zstd', 'in brotli'],
    ['gzip, deflate', 'in gzip'],
    ['BR;q=0.5, GZIP;q=0.8', 'in gzip'],
    ['br;q=0, gzip;q=0', 'as it is'],
    ['identity, br;q=0.5', 'as it is'],
    ['*', 'in brotli'],
    ['*;q=0', 'as it is'],
    ['br;q=0, *', 'in gzip'],
    ['br;q=2', 'as it is'],
    ['br;q=x,,;', 'as it is'],
  ])('Accept-Encoding %j selects the body %j', (acceptEncoding, body) => {
    const seen = ask(FILE, acceptEncoding === '' ? {} : { 'accept-encoding': acceptEncoding });
    expect([seen.status, seen.body]).toEqual([200, body]);
    const coding = { 'in brotli': 'br', 'in gzip': 'gzip', 'as it is': undefined }[body];
    expect(/\r\nContent-Encoding: (\w+)/.exec(seen.fields)?.[1]).toBe(coding);
    expect(seen.fields).toMatch(
      /^text\/css\r\nCache-Control: no-cache\r\nETag: "[\w-]{22}"\r\nVary: Accept-Encoding\r\n/,
    );
  });

  test('A file without compressed forms is sent as it is', () => {
    const load = () => ({ ...CONTENT, br: null, gzip: null });
    expect(ask({ ...FILE, load }, { 'accept-encoding': 'br, gzip' }).body).toBe('as it is');
  });

  test('If-None-Match with the ETag of the selected form gives 304, and with another one the file', () => {
    const br = { 'accept-encoding': 'br' };
    const etag = etagOf(ask(FILE, br));
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const seen = ask(FILE, { ...br, 'if-none-match': known });
      expect([seen.status, seen.body, etagOf(seen)]).toEqual([304, '', etag]);
      expect(seen.fields).toContain('\r\nVary: Accept-Encoding');
      expect(seen.fields).not.toContain('Content-Encoding');
    }
    expect(ask(FILE, { 'if-none-match': etag }).status).toBe(200);
    for (const other of ['"x"', etag.slice(1, -1), `${etag}x`]) {
      expect(ask(FILE, { ...br, 'if-none-match': other }).status).toBe(200);
    }
  });

  test('A changed file has another ETag', () => {
    const load = () => ({ ...CONTENT, identity: Buffer.from('changed') });
    expect(etagOf(ask({ ...FILE, load }))).not.toBe(etagOf(ask(FILE)));
  });

  test('A file with a hash in its name is kept for a year', () => {
    expect(ask({ ...FILE, isImmutable: true }).fields).toContain(
      '\r\nCache-Control: public, max-age=31536000, immutable',
    );
  });

  test('A file is loaded once, at the first request', () => {
    let loads = 0;
    const load = () => {
      loads++;
      return CONTENT;
    };
    const handler = staticFile({ ...FILE, load });
    expect(loads).toBe(0);
    const exchange = { send: () => {} } as unknown as Exchange;
    for (let n = 0; n < 3; n++) handler(HEAD, exchange);
    expect(loads).toBe(1);
  });

  test('Long content is streamed, except for HEAD', () => {
    const long = Buffer.alloc(ANSWER_PIECE_BYTES + 1, 'x');
    const load = () => ({ identity: long, br: null, gzip: null });
    expect(ask({ ...FILE, load })).toMatchObject({ status: 200, isStreamed: true });
    expect(ask({ ...FILE, load }, {}, 'HEAD')).toMatchObject({ isStreamed: false, body: String(long) });
  });
});
