import { execFileSync } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { signRequest } from '../../../src/client/sign.ts';

const SECRET = 'sk_live_0000000000000000000000000000000000000A';
const PUBLIC = 'pk_live_0000000000000000000000000000000000000B';

/** Computes the signature independently, with Python's own hashes, from the bytes as received. */
function signatureByPython(key: string, method: string, path: string, ts: string, body: Buffer, rid: string): string {
  const program = `
import sys, hmac, hashlib
key, method, path, ts, rid = sys.argv[1:]
body = sys.stdin.buffer.read()
text = "\\n".join([method, path, ts, hashlib.sha256(body).hexdigest(), rid])
secret = hashlib.sha256(key.encode()).digest() if key.startswith("pk_live_") else key.encode()
print(hmac.new(secret, text.encode(), hashlib.sha256).hexdigest())`;
  return execFileSync('python3', ['-c', program, key, method, path, ts, rid], { input: body }).toString().trim();
}

describe('signRequest', () => {
  test.each([
    [SECRET, 'POST', '/v1/decide', '{"event_type":"login"}'],
    [PUBLIC, 'POST', '/v1/decide', '{"event_type":"login"}'],
    [SECRET, 'GET', '/v1/lists?limit=5&cursor=a%20b', ''],
    [PUBLIC, 'POST', '/v1/decide', 'ünïcode ✓'],
  ])('The signature of %s %s %s is the one that Python computes', (key, method, path, body) => {
    const headers = signRequest({ key, method, path, body, timestampSeconds: 1_700_000_000, requestId: 'rid-1' });
    expect(headers).toEqual({
      'X-SVC-Key': key,
      'X-SVC-Ts': '1700000000',
      'X-SVC-Rid': 'rid-1',
      'X-SVC-Sig': signatureByPython(key, method, path, '1700000000', Buffer.from(body), 'rid-1'),
    });
  });

  test('A text and its UTF-8 bytes have the same signature', () => {
    const input = { key: SECRET, method: 'POST', path: '/v1/decide', timestampSeconds: 1, requestId: 'r' };
    expect(signRequest({ ...input, body: 'ü' })).toEqual(signRequest({ ...input, body: Buffer.from('ü') }));
  });
});

describe('client', () => {
  test('The client sends what it signed, each time with a new id, and keeps its connections', async () => {
    const seen: { headers: IncomingHttpHeaders; body: Buffer; port: number | undefined }[] = [];
    const server = createServer((request, response) => {
      void buffer(request).then((body) => {
        seen.push({ headers: request.headers, body, port: request.socket.remotePort });
        response.writeHead(seen.length === 2 ? 429 : 200, { 'content-type': 'application/json' });
        response.end('{"decision":"ALLOW"}');
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = createClient({ url, key: PUBLIC, nowMs: () => 1_700_000_000_999 });
    expect(await client.decide({ event_type: 'login' })).toMatchObject({
      kind: 'answer',
      status: 200,
      body: { decision: 'ALLOW' },
    });
    expect(await client.decide(Buffer.from('{}'))).toMatchObject({ kind: 'answer', status: 429 });
    for (let n = 0; n < 4; n++) await client.decide('{}');
    for (const { headers, body } of seen.slice(0, 2)) {
      const rid = String(headers['x-svc-rid']);
      expect(headers['x-svc-ts']).toBe('1700000000');
      expect(headers['x-svc-sig']).toBe(signatureByPython(PUBLIC, 'POST', '/v1/decide', '1700000000', body, rid));
    }
    expect(seen[0]?.headers['x-svc-rid']).not.toBe(seen[1]?.headers['x-svc-rid']);
    // `fetch` may open a second one while it tidies up after the first call.
    expect(new Set(seen.map(({ port }) => port)).size).toBeLessThanOrEqual(2);
  });

  test('The client returns unreachable when nothing listens', async () => {
    const client = createClient({ url: 'http://127.0.0.1:1', key: SECRET });
    expect(await client.decide({})).toMatchObject({ kind: 'unreachable' });
  });
});
