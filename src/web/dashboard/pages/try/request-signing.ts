import { readHeaders } from '../../header-lines.ts';
import { digestHmac, digestSha256, toBase64, hexOf, utf8Bytes } from '../../digests.ts';

/** Signatures of requests, computed in the browser. Source: contract, 2.2; docs/signing.md. */

export const METHOD = 'POST';
export const PATH = '/v1/decide';

export interface Signed {
  /** The five lines, as they are joined by newlines. */
  readonly lines: readonly string[];
  readonly signature: string;
}

/** `timestamp` and `requestId` as they are in their headers. `key` must not be empty. */
export async function signTriedRequest(
  key: string,
  body: string,
  timestamp: string,
  requestId: string,
): Promise<Signed> {
  const lines = [METHOD, PATH, timestamp, hexOf(await digestSha256(body)), requestId];
  return { lines, signature: await signText(key, lines.join('\n')) };
}

async function signText(key: string, text: string): Promise<string> {
  return hexOf(await digestHmac(key.startsWith('pk_') ? await digestSha256(key) : utf8Bytes(key), text));
}

export function maskKey(key: string): string {
  return key === '' ? 'sk_live_…' : `${key.slice(0, 12)}…`;
}

export interface Finding {
  readonly fits: boolean;
  readonly text: string;
}

export interface Own {
  readonly key: string;
  readonly body: string;
  /** Lines of `X-SVC-Ts: …`. */
  readonly headers: string;
  /** Optional: what the person's program signed. */
  readonly text: string;
}

const LINE_NAMES = ['method', 'path', 'X-SVC-Ts', 'body hash', 'X-SVC-Rid'] as const;

/** Returns whether a signature matches, and if not, which mistake produces it. */
export async function checkSignature(
  { key, body, headers, text }: Own,
  nowSeconds: number,
): Promise<readonly Finding[]> {
  const fields = readHeaders(headers);
  const [timestamp, requestId, given] = ['x-svc-ts', 'x-svc-rid', 'x-svc-sig'].map(
    (name) => fields.get(name) ?? '',
  ) as [string, string, string];
  if (key === '') return [wrong('Enter the key above: it is the key of the HMAC.')];
  if (timestamp === '' || requestId === '' || given === '')
    return [wrong('Paste the three headers X-SVC-Ts, X-SVC-Rid and X-SVC-Sig.')];
  const { lines, signature } = await signTriedRequest(key, body, timestamp, requestId);
  const findings: Finding[] = [];
  const sent = fields.get('x-svc-key') ?? '';
  if (sent !== '' && sent !== key) findings.push(wrong('X-SVC-Key differs from the key entered above.'));
  if (given === signature) findings.push({ fits: true, text: 'The signature matches the body above.' });
  else if (text !== '') findings.push(...compareLines(text, lines));
  if (given !== signature) {
    const mistake = await findMistake(key, body, lines, given);
    findings.push(
      wrong(mistake ?? 'The signature matches no known form of this request. Was it made with this key and this body?'),
    );
  }
  findings.push(...timeFindings(timestamp, nowSeconds));
  return findings;
}

function compareLines(text: string, lines: readonly string[]): readonly Finding[] {
  const own = text.split('\n');
  const findings = lines.flatMap((line, n) =>
    own[n] === line
      ? []
      : [
          wrong(
            `Line ${n + 1}, the ${LINE_NAMES[n] ?? ''}, differs: yours is ${own[n] ?? 'missing'}, it must be ${line}.`,
          ),
        ],
  );
  if (own.length > lines.length) findings.push(wrong('Yours has more than five lines: no newline ends the string.'));
  return findings;
}

/** Tries the mistakes that people make. Source: docs/signing.md, "When a request is refused". */
async function findMistake(key: string, body: string, lines: readonly string[], given: string): Promise<string | null> {
  const [method = '', path = '', timestamp = '', hash = '', requestId = ''] = lines;
  const own = hexOf(await digestHmac(utf8Bytes(key), lines.join('\n')));
  const digested = hexOf(await digestHmac(await digestSha256(key), lines.join('\n')));
  const bodyForms: readonly (readonly [string, string])[] = [
    [`${body}\n`, 'Your body hash is of the body with a newline at its end.'],
    [body.trim(), 'Your body hash is of the body without the white space around it.'],
    [reserialised(body, undefined), 'Your body hash is of the compact JSON: send the same bytes that you hash.'],
    [reserialised(body, 2), 'Your body hash is of the indented JSON: send the same bytes that you hash.'],
    ['', 'Your body hash is of an empty body: hash before the stream is read.'],
  ];
  const texts: readonly (readonly [string, string])[] = [
    [`${join(lines)}\n`, 'A newline ends your signing string: the fifth line has none.'],
    [lines.join('\r\n'), 'Your lines end in CR LF: join them by a single newline.'],
    [lines.join(''), 'Your lines are joined without newlines.'],
    [join([method.toLowerCase(), path, timestamp, hash, requestId]), 'Your method is in lower case.'],
    [join([method, path.slice(1), timestamp, hash, requestId]), 'Your path lacks its leading slash.'],
    [join([method, `${path}/`, timestamp, hash, requestId]), 'Your path ends in a slash.'],
    [
      join([method, `${location.origin}${path}`, timestamp, hash, requestId]),
      'You signed the whole URL: sign only the path.',
    ],
    [join([method, path, timestamp, hash.toUpperCase(), requestId]), 'Your body hash is in upper case.'],
    [join([method, path, timestamp, body, requestId]), 'You signed the body itself: the fourth line is its SHA-256.'],
    [join([method, path, requestId, hash, timestamp]), 'Your third and fifth line are swapped.'],
  ];
  if (given === (key.startsWith('pk_') ? own : digested))
    return key.startsWith('pk_')
      ? 'You used the text of the public key: the HMAC key is its SHA-256.'
      : 'You used the SHA-256 of the secret key: the HMAC key is its text.';
  for (const [form, why] of bodyForms)
    if (
      form !== body &&
      given === (await signText(key, join([method, path, timestamp, hexOf(await digestSha256(form)), requestId])))
    )
      return why;
  for (const [form, why] of texts) if (given === (await signText(key, form))) return why;
  const right = await signText(key, join(lines));
  if (given.toLowerCase() === right)
    return 'Your signature is in upper case: that is accepted, but write it in lower case.';
  const bytes = right.match(/../g)?.map((pair) => Number.parseInt(pair, 16)) ?? [];
  if (given === toBase64(Uint8Array.from(bytes))) return 'Your signature is base64: it must be 64 hex digits.';
  return null;
}

function join(parts: readonly string[]): string {
  return parts.join('\n');
}

function reserialised(body: string, indent: number | undefined): string {
  try {
    return JSON.stringify(JSON.parse(body), null, indent);
  } catch {
    return body;
  }
}

function timeFindings(timestamp: string, nowSeconds: number): readonly Finding[] {
  if (/^\d{13}$/.test(timestamp)) return [wrong('X-SVC-Ts is in milliseconds: it must be Unix seconds.')];
  if (!/^\d{1,12}$/.test(timestamp)) return [wrong('X-SVC-Ts must be a whole number of Unix seconds.')];
  const age = Math.abs(nowSeconds - Number(timestamp));
  return age <= 300 ? [] : [wrong(`X-SVC-Ts is ${age} s from now: over 300 s the server refuses it.`)];
}

function wrong(text: string): Finding {
  return { fits: false, text };
}
