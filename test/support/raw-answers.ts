import { expectDocumented } from './contract.ts';
import type { Answer } from './answer.ts';

/** Checks what a raw connection received against the table of endpoints. Texts are Latin-1: one character is one byte. */

/**
 * Throws if the table does not describe one of the complete responses in `received`. Each is the response to the request at the same
 * position in `sent`. Ends at the first request that is not well-formed, because its response cannot be determined.
 */
export function expectRawDocumented(sent: string, received: string): void {
  let rest = received;
  for (const { method, target } of requestsIn(sent)) {
    const read = readAnswer(rest, method);
    if (read === null) return;
    expectDocumented(method, target, read.answer);
    ({ rest } = read);
  }
}

const REQUEST_HEAD = /^([A-Z]+) (\/\S*) HTTP\/1\.1\r\n((?:[^\r\n]+\r\n)*)\r\n/;

function* requestsIn(sent: string): Iterable<{ readonly method: string; readonly target: string }> {
  let rest = sent;
  for (;;) {
    const match = REQUEST_HEAD.exec(rest);
    if (match === null) return;
    const [head, method = '', target = '', fields = ''] = match;
    yield { method, target };
    if (/^transfer-encoding:/im.test(fields)) return;
    const length = /^content-length:[ \t]*(\d+)/im.exec(fields)?.[1];
    rest = rest.slice(head.length + Number(length ?? 0));
  }
}

const ANSWER_HEAD = /^HTTP\/1\.1 (\d{3})[^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/;

/** Returns null if `text` does not begin with a complete response. */
function readAnswer(text: string, method: string): { readonly answer: Answer; readonly rest: string } | null {
  const match = ANSWER_HEAD.exec(text);
  if (match === null) return null;
  const [head, status = '', fields = ''] = match;
  const headers = Object.fromEntries(fields.split('\r\n').map(fieldOf));
  const hasBody = method !== 'HEAD' && status !== '204';
  const body = hasBody ? readBody(text.slice(head.length), headers) : { bytes: '', length: 0 };
  if (body === null) return null;
  const decoded = Buffer.from(body.bytes, 'latin1').toString();
  const answer = { status: Number(status), headers, text: decoded, json: parse(decoded) };
  return { answer, rest: text.slice(head.length + body.length) };
}

function fieldOf(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, Math.max(0, colon)).toLowerCase(), line.slice(colon + 1).trim()];
}

interface RawBody {
  readonly bytes: string;
  /** Bytes of the body as sent, including the sizes of its chunks. */
  readonly length: number;
}

function readBody(text: string, headers: Readonly<Record<string, string>>): RawBody | null {
  if (headers['transfer-encoding'] === 'chunked') return readChunks(text);
  const length = Number(headers['content-length'] ?? Number.NaN);
  return text.length >= length ? { bytes: text.slice(0, length), length } : null;
}

function readChunks(text: string): RawBody | null {
  let bytes = '';
  for (let at = 0; ;) {
    const size = /^([0-9a-f]+)\r\n/i.exec(text.slice(at, at + 20));
    if (size === null) return null;
    const from = at + size[0].length;
    const count = Number.parseInt(size[1] ?? '', 16);
    at = from + count + 2;
    if (text.length < at) return null;
    if (count === 0) return { bytes, length: at };
    bytes += text.slice(from, from + count);
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
