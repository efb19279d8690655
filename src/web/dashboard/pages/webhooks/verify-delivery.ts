import { readHeaders } from '../../header-lines.ts';
import { fromBase64, digestHmac, toBase64, hexOf, utf8Bytes } from '../../digests.ts';

/** Checks a delivery that somebody pasted. Source: contract, 10.4; docs/webhooks.md, "The two signatures". */

/** Source: the Standard Webhooks specification: keys have 24 bytes or more. */
const KEY_BYTES_MIN = 24;
const TOLERANCE_SECONDS = 300;
/** Choice: a rotation has at most five; nobody pastes more. */
const SIGNATURES_MAX = 16;

export interface Pasted {
  /** Lines of `name: value`, as curl, a log or a browser shows them. */
  readonly headers: string;
  readonly body: string;
  readonly secret: string;
}

export interface SignatureCheck {
  readonly header: 'webhook-signature' | 'X-SVC-Webhook-Signature';
  readonly signature: string;
  readonly fits: boolean;
  readonly why: string;
}

export type Checked =
  | { readonly kind: 'unusable'; readonly why: string }
  | { readonly kind: 'checked'; readonly signatures: readonly SignatureCheck[]; readonly time: string | null };

/** Ways in which the body may have changed before it was pasted, and what each means. */
function formsOf(body: string): readonly (readonly [form: string, why: string])[] {
  const forms: (readonly [string, string])[] = [
    [`${body}\n`, 'It matches the body with a newline at its end, which is missing here.'],
    [body.replace(/\s+$/, ''), 'It matches the body without the white space at its end, which was added here.'],
    [
      body.replaceAll('\n', '\r\n'),
      'It matches the body with lines that end in CR LF, which this text box turned into LF.',
    ],
  ];
  try {
    const parsed: unknown = JSON.parse(body);
    forms.push([
      JSON.stringify(parsed),
      'It matches the compact JSON of this body: the body was parsed and serialised again.',
    ]);
  } catch {
    // Not JSON: only the raw forms remain.
  }
  return forms.filter(([form]) => form !== body);
}

/** Computes both signatures for the body and says which of the given ones fit, and why the others do not. Nothing is sent. */
export async function checkDelivery({ headers, body, secret }: Pasted, nowSeconds: number): Promise<Checked> {
  const trimmed = secret.trim();
  const key = trimmed.startsWith('whsec_') ? fromBase64(trimmed.slice('whsec_'.length)) : null;
  if (trimmed.includes('*'))
    return unusable('This is the masked secret. The full one was shown once, when it was created.');
  if (key === null || key.length < KEY_BYTES_MIN)
    return unusable('The secret must be whsec_ and the base64 of at least 24 bytes, as it was shown when created.');
  const fields = readHeaders(headers);
  const id = fields.get('webhook-id') ?? '';
  const sent = fields.get('webhook-timestamp') ?? '';
  const standard = fields.get('webhook-signature') ?? '';
  const bodyOnly = fields.get('x-svc-webhook-signature') ?? '';
  if (standard === '' && bodyOnly === '')
    return unusable('Paste the header webhook-signature or X-SVC-Webhook-Signature.');

  const signatures: SignatureCheck[] = [];
  if (standard !== '') {
    const compute = async (text: string): Promise<string> => toBase64(await digestHmac(key, `${id}.${sent}.${text}`));
    for (const given of standard.split(' ').filter(Boolean).slice(0, SIGNATURES_MAX))
      signatures.push(await checkStandard(given, body, compute, id, sent));
  }
  if (bodyOnly !== '') {
    const compute = async (text: string): Promise<string> => hexOf(await digestHmac(utf8Bytes(trimmed), text));
    const fits = bodyOnly.toLowerCase() === (await compute(body));
    const why = fits
      ? 'It matches the body. It covers neither the time nor the id: prefer webhook-signature.'
      : !/^[0-9a-f]{64}$/i.test(bodyOnly)
        ? 'It must be 64 hex digits.'
        : ((await otherForm(body, async (form) => (await compute(form)) === bodyOnly.toLowerCase())) ?? MISFIT_BODY);
    signatures.push({ header: 'X-SVC-Webhook-Signature', signature: bodyOnly, fits, why });
  }
  return { kind: 'checked', signatures, time: timeOf(sent, nowSeconds) };
}

const MISFIT =
  'It was made with another secret (during a rotation there are several), or the body, webhook-id or webhook-timestamp differs.';
const MISFIT_BODY = 'It was made with another secret (during a rotation: the oldest one), or the body differs.';

async function checkStandard(
  given: string,
  body: string,
  compute: (text: string) => Promise<string>,
  id: string,
  sent: string,
): Promise<SignatureCheck> {
  const header = 'webhook-signature';
  const [version, value] = [given.slice(0, given.indexOf(',')), given.slice(given.indexOf(',') + 1)] as const;
  const fail = (why: string): SignatureCheck => ({ header, signature: given, fits: false, why });
  if (version !== 'v1') return fail('Only signatures that begin with v1, are known; ignore others.');
  if (id === '' || sent === '') return fail('It covers webhook-id and webhook-timestamp: paste both.');
  if (value === (await compute(body)))
    return { header, signature: given, fits: true, why: 'It matches the id, the time and the body.' };
  return fail((await otherForm(body, async (form) => (await compute(form)) === value)) ?? MISFIT);
}

async function otherForm(body: string, fits: (form: string) => Promise<boolean>): Promise<string | null> {
  for (const [form, why] of formsOf(body)) if (await fits(form)) return why;
  return null;
}

/** Returns whether a receiver would accept the time; null without a timestamp. */
function timeOf(sent: string, nowSeconds: number): string | null {
  if (sent === '') return null;
  if (!/^\d{1,12}$/.test(sent)) return 'webhook-timestamp must be a whole number of Unix seconds.';
  const age = nowSeconds - Number(sent);
  if (Math.abs(age) <= TOLERANCE_SECONDS) return 'The time is within 300 s of now: a receiver accepts it.';
  const distance = Math.abs(age);
  const unit = distance < 7_200 ? `${Math.round(distance / 60)} min` : `${Math.round(distance / 3_600)} h`;
  return `The time is ${unit} ${age > 0 ? 'old' : 'ahead'}. That is fine here; a receiver refuses over 300 s.`;
}

function unusable(why: string): Checked {
  return { kind: 'unusable', why };
}
