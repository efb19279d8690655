/**
 * Header fields that few handlers read, by lower-case name. `once`: a second field is refused. `list`: repeated fields form one list,
 * joined by commas, as HTTP defines. To read another field, add its name here.
 */
const COLD_HEADERS = {
  accept: 'list',
  'accept-encoding': 'list',
  'accept-language': 'list',
  'access-control-request-method': 'once',
  // Browsers send one. Two of them, joined by a comma, contain no valid session.
  cookie: 'list',
  'idempotency-key': 'once',
  'if-match': 'list',
  'if-none-match': 'list',
  origin: 'once',
  referer: 'list',
  'sec-fetch-site': 'list',
  signature: 'list',
  'signature-agent': 'list',
  'signature-input': 'list',
  'user-agent': 'list',
  'x-forwarded-for': 'list',
  'x-forwarded-host': 'list',
  'x-forwarded-method': 'list',
  'x-forwarded-proto': 'list',
  'x-forwarded-uri': 'list',
  'x-gatehouse': 'list',
  'x-original-method': 'list',
  'x-original-uri': 'list',
  'x-original-url': 'list',
} as const satisfies Readonly<Record<string, 'once' | 'list'>>;

export type ColdHeader = keyof typeof COLD_HEADERS;

const RULES: ReadonlyMap<string, 'once' | 'list'> = new Map(Object.entries(COLD_HEADERS));

/** The fields of one request. Created with its first field, so that requests without one cost nothing. */
export class ColdHeaders {
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  /** Names and values in turn, as the constructor takes them. */
  get pairs(): readonly string[] {
    return this.#names.flatMap((name, at) => [name, this.#values[at] ?? '']);
  }

  constructor(pairs: readonly string[] = []) {
    for (let at = 0; at + 1 < pairs.length; at += 2) {
      this.#names.push(pairs[at] ?? '');
      this.#values.push(pairs[at + 1] ?? '');
    }
  }

  /** Returns the value as sent, `''` if the field is absent. */
  get(name: ColdHeader): string {
    return this.#values[this.#names.indexOf(name)] ?? '';
  }

  /** Returns false if the field was given before and may be given only once. */
  add(name: string, value: string): boolean {
    const at = this.#names.indexOf(name);
    if (at < 0) {
      this.#names.push(name);
      this.#values.push(value);
      return true;
    }
    if (RULES.get(name) === 'once') return false;
    const before = this.#values[at] ?? '';
    this.#values[at] = before === '' ? value : `${before},${value}`;
    return true;
  }
}

/** For requests without such a field. Nothing is ever added to it. */
export const NO_COLD_HEADERS = new ColdHeaders();

export function isColdHeader(name: string): boolean {
  return RULES.has(name);
}
