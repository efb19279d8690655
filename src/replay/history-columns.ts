import { ATTRIBUTE_NAME, DEFAULT_ATTRIBUTES } from '../risk/policy/attributes.ts';

/** Columns of a customer's own history and the fields of a decide request that they stand for. */

/** Fields that one column each can stand for; besides them `entity_keys.<name>`, `headers.<name>` and `attributes.<name>`. */
const FIELDS = [
  'timestamp',
  'event_type',
  'ip',
  'user_agent',
  'url',
  'referrer',
  'session_token',
  'outcome',
  'label',
  'customer',
] as const;
export type HistoryField =
  | (typeof FIELDS)[number]
  | `entity_keys.${string}`
  | `headers.${string}`
  | `attributes.${string}`;

/** Column → field. A column that stands for nothing is absent. */
export type ColumnMap = ReadonlyMap<string, HistoryField>;

/** Usual names of label columns, in the form of `columnWords`. */
export const LABEL_COLUMNS = [
  'is_fraud',
  'isfraud',
  'fraud',
  'fraud_label',
  'fraudulent',
  'is_attack',
  'is_attack_ip',
  'class',
  'target',
] as const;

/** Usual names of columns, in the form of `columnWords`. */
const KNOWN_NAMES: Readonly<Record<string, readonly string[]>> = {
  timestamp: [
    'time',
    'ts',
    'date',
    'datetime',
    'date_time',
    'created',
    'created_at',
    'created_on',
    'event_time',
    'event_timestamp',
    'event_date',
    'occurred_at',
    'transaction_time',
    'transaction_date',
    'login_time',
    'login_timestamp',
    'order_date',
    'unix_time',
  ],
  event_type: ['event', 'event_name', 'type', 'action', 'kind', 'step', 'activity'],
  ip: [
    'ip_address',
    'ipaddress',
    'ip_addr',
    'client_ip',
    'remote_ip',
    'remote_addr',
    'user_ip',
    'customer_ip',
    'source_ip',
    'src_ip',
    'login_ip',
    'x_forwarded_for',
  ],
  user_agent: ['useragent', 'user_agent_string', 'http_user_agent', 'ua', 'agent'],
  url: ['page', 'page_url', 'request_url', 'path', 'uri'],
  referrer: ['referer', 'http_referer', 'http_referrer'],
  session_token: ['session', 'session_id', 'sessionid', 'sid', 'cookie_id', 'visitor_id'],
  outcome: ['result', 'login_result', 'login_successful', 'success', 'successful', 'succeeded'],
  label: LABEL_COLUMNS,
  customer: ['shop', 'merchant_id', 'tenant', 'tenant_id'],
  'entity_keys.email': ['email', 'e_mail', 'mail', 'email_address', 'user_email', 'customer_email'],
  'entity_keys.user_id': ['user_id', 'userid', 'user', 'uid', 'customer_id', 'client_id', 'member_id', 'player_id'],
  'entity_keys.account_id': ['account_id', 'account', 'accountid'],
  'entity_keys.username': ['username', 'user_name', 'login', 'login_name'],
  'entity_keys.phone': ['phone', 'phone_number', 'mobile', 'telephone'],
  'entity_keys.card_hash': ['card', 'card_hash', 'card_id', 'card_fingerprint', 'card_number', 'cc_num', 'pan_hash'],
  'entity_keys.device_id': ['device_id', 'deviceid', 'device'],
  'headers.accept-language': ['accept_language', 'language', 'languages', 'locale'],
  'attributes.amount': [
    'amount',
    'amt',
    'transaction_amount',
    'order_amount',
    'order_total',
    'total',
    'price',
    'value',
  ],
  'attributes.currency': ['currency', 'currency_code'],
  'attributes.account_created_at': ['account_created_at', 'account_created', 'signup_time', 'registered_at'],
};

const BY_NAME: ReadonlyMap<string, HistoryField> = new Map([
  ...FIELDS.map((field) => [field, field] as const),
  ...Object.keys(DEFAULT_ATTRIBUTES).map((name) => [name, `attributes.${name}`] as const),
  ...Object.entries(KNOWN_NAMES).flatMap(([field, names]) =>
    names.map((name) => [name, field as HistoryField] as const),
  ),
]);

const ENTITY_NAME = /^.{1,64}$/;
/** Source: RFC 9110, section 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,256}$/i;

/** Reads the name of a field as `--map` gives it; null if there is none. */
export function readHistoryField(text: string): HistoryField | null {
  const known = (FIELDS as readonly string[]).includes(text);
  if (known) return text as HistoryField;
  const [, part = '', name = ''] = /^(entity_keys|headers|attributes)\.(.+)$/.exec(text) ?? [];
  const form = part === 'entity_keys' ? ENTITY_NAME : part === 'headers' ? HEADER_NAME : ATTRIBUTE_NAME;
  return part !== '' && form.test(name) ? (text as HistoryField) : null;
}

/** The fields that `--map` takes, for messages. */
export const FIELD_NAMES = [...FIELDS, 'entity_keys.<name>', 'headers.<name>', 'attributes.<name>'].join(', ');

/** Guesses the fields of columns from their names. Each field is taken once, by the first column of that name. */
export function guessColumns(columns: readonly string[]): Map<string, HistoryField> {
  const guessed = new Map<string, HistoryField>();
  const taken = new Set<HistoryField>();
  const take = (column: string, field: HistoryField | null | undefined): void => {
    if (field === null || field === undefined || guessed.has(column) || taken.has(field)) return;
    taken.add(field);
    guessed.set(column, field);
  };
  // Exact names of fields first: `time` must not take the place of `timestamp`.
  for (const column of columns) take(column, readHistoryField(column));
  for (const column of columns) take(column, BY_NAME.get(columnWords(column)));
  return guessed;
}

/** Returns a column's name in lower case with `_` between the words: `createdAt` and `Created At` are `created_at`. */
export function columnWords(column: string): string {
  return column
    .trim()
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
}

export type AppliedMap =
  | { readonly kind: 'ok'; readonly columns: ColumnMap }
  | { readonly kind: 'fault'; readonly message: string };

/**
 * Changes a guess by pairs `column=field`; an empty field ignores the column. The last `=` separates: names of columns may have one.
 */
export function applyMap(
  columns: readonly string[],
  guessed: ColumnMap,
  pairs: readonly string[],
  labels: string | null,
): AppliedMap {
  const fields = new Map(guessed);
  for (const pair of labels === null ? pairs : [...pairs, `${labels}=label`]) {
    const at = pair.lastIndexOf('=');
    const column = pair.slice(0, at);
    const name = pair.slice(at + 1);
    if (at < 1) return { kind: 'fault', message: `"${pair}" is not column=field` };
    if (!columns.includes(column))
      return { kind: 'fault', message: `there is no column "${column}"; the columns are ${columns.join(', ')}` };
    fields.delete(column);
    if (name === '') continue;
    const field = readHistoryField(name);
    if (field === null) return { kind: 'fault', message: `there is no field "${name}"; the fields are ${FIELD_NAMES}` };
    for (const [other, taken] of fields) if (taken === field) fields.delete(other);
    fields.set(column, field);
  }
  return { kind: 'ok', columns: fields };
}
