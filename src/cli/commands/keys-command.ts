import { InvalidArgumentError } from 'commander';
import { checkKeyText, KEY_PREFIX_CHARACTERS } from '../../kernel/key-text.ts';
import { ANY_ORIGIN, parseOrigin } from '../../kernel/origin.ts';
import { KEY_NAME_CHARACTERS_MAX, KEY_NETWORKS_MAX, KEY_ORIGINS_MAX } from '../../kernel/limits.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { DEFAULT_KEY_SCOPES, KEY_SCOPES, type KeyScope, sortedScopes } from '../../kernel/key-scopes.ts';
import { isTestCustomer, liveCustomerOf, testCustomerOf } from '../../kernel/test-customers.ts';
import { canonicalNetwork } from '../../kernel/network-set.ts';
import type { Committer, KeyGrant } from '../../state/feed/changes.ts';
import type { StoreWrite } from '../../state/tables/durable.ts';
import { createKeyPair, type KeyOptions, newGrantedKeys, newReplacement } from '../../state/feed/key-changes.ts';
import { type ApiKey, hashOfKey } from '../../state/tables/key-table.ts';
import type { Store } from '../../state/feed/open-store.ts';
import type { Cli } from '../context.ts';
import { confirm, type ConfirmPrompt } from '../confirm.ts';
import { failure, failureOf, ok, usage, type CommandOutcome } from '../command-outcome.ts';
import { parseGrace } from '../grace-option.ts';
import { tableText, timeText } from '../text-table.ts';
import { withStore } from '../with-store.ts';

/** Choice: more requests than any machine handles per window. */
const RATE_LIMIT_MAX = 0xffff_ffff;

interface CreateOptions {
  readonly customer: string;
  readonly name?: string;
  readonly scopes?: readonly KeyScope[];
  readonly gate: boolean;
  readonly test: boolean;
  readonly expires?: number;
  readonly networks?: readonly string[];
  readonly rateLimit?: number;
  readonly origin?: readonly string[];
}

export function addKeys(cli: Cli): void {
  const keys = cli.program.command('keys').description('API keys');

  keys
    .command('create')
    .description('create a pair of keys, a secret and a public one; they are shown only once')
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .option('--name <name>', 'what the key is for, shown in listings', parseName)
    .option(
      '--scopes <scopes>',
      `what the secret key may do, by commas: ${KEY_SCOPES.join(', ')}; by default all but gate`,
      parseScopes,
    )
    .option('--gate', 'a key for a proxy: the scope gate alone, without a public key', false)
    .option('--test', 'test keys, sk_test_… and pk_test_…, whose data is apart from that of live keys', false)
    .option(
      '--expires <time>',
      'Unix seconds, ISO 8601, or a time from now such as 90d; the keys are unknown from then on',
      parseExpiry,
    )
    .option(
      '--networks <networks>',
      'addresses and networks that the secret key may be used from, by commas',
      parseNetworks,
    )
    .option('--rate-limit <requests>', 'requests per window of 60 s, for each of the two keys', parseRateLimit)
    .option(
      '--origin <origin>',
      `a web site whose scripts may use the public key, such as https://shop.example; repeatable, up to ${KEY_ORIGINS_MAX}; '*' for every site`,
      addOrigin,
    )
    .action((options: CreateOptions) =>
      cli.run(async () => {
        if (options.gate && options.scopes !== undefined)
          return usage('conflicting_options', 'give either --gate or --scopes');
        return withStore(cli.globals().dataDir, (store, door) => createKeys(store, door, options));
      }),
    );

  keys
    .command('rotate <key>')
    .description('replace a key by one with the same rights; the old one is refused from then on, or after --grace')
    .option('--grace <seconds>', 'how long the old key stays valid', parseGrace, 0)
    .option('--yes', 'skip the confirmation, which is only asked on a terminal', false)
    .action((text: string, { grace, yes }: { readonly grace: number; readonly yes: boolean }) =>
      cli.run(async () => {
        const named = namedKey(text.trim());
        if (named === null) return usage('malformed_key', PREFIX_HINT);
        const ask = yes ? null : confirm;
        return withStore(cli.globals().dataDir, (store, door) => rotateKey(store, door, named, grace, ask));
      }),
    );

  keys
    .command('list')
    .description('list the keys by their first characters')
    .action(() => cli.run(async () => withStore(cli.globals().dataDir, listKeys)));

  keys
    .command('revoke <key>')
    .description('revoke a key, given by the 12 characters that `keys list` shows or by the whole key')
    .option('--yes', 'skip the confirmation, which is only asked on a terminal', false)
    .action((text: string, { yes }: { readonly yes: boolean }) =>
      cli.run(async () => {
        const named = namedKey(text.trim());
        if (named === null) return usage('malformed_key', PREFIX_HINT);
        return withStore(cli.globals().dataDir, (store, door) => revokeKey(store, door, named, yes ? null : confirm));
      }),
    );
}

async function createKeys(store: Store, door: Committer, options: CreateOptions): Promise<CommandOutcome> {
  const customer = store.customers.findById(options.customer);
  if (customer === null) return failure('unknown_customer', `there is no customer ${options.customer}`);
  const { rateLimit = null, origin: origins = [], test: isTest } = options;
  const grant = grantOf(options);
  const number = isTest ? testCustomerOf(customer.number) : customer.number;
  const made = await makeKeys(door, number, grant, { rateLimit, origins });
  if (made.kind === 'fault') return failureOf(made);
  const { secret, open } = made.value;
  const warning = origins.includes(ANY_ORIGIN) ? EVERY_SITE : null;
  return ok(
    {
      customer_id: customer.id,
      ...(isTest && { test: true }),
      secret_key: secret,
      ...(open !== null && { public_key: open }),
      ...(grant !== null && showGrant(grant)),
      ...(origins.length > 0 && { origins }),
      ...(warning !== null && { warning }),
    },
    [
      `${isTest ? 'Test keys' : 'Keys'} of ${customer.name} (${customer.id}). They are shown only now.`,
      `  secret  ${secret}`,
      ...(open === null ? [] : [`  public  ${open}`]),
      ...(grant === null ? [] : [`  scopes  ${grant.scopes.join(', ')}`]),
      ...(origins.length > 0 ? [`  scripts that may use the public key: ${origins.join(', ')}`] : []),
      ...(warning === null ? [] : [`Warning: ${warning}`]),
    ].join('\n'),
  );
}

/** Returns null for keys with the usual rights and without a name. */
function grantOf({ name, scopes, gate, expires, networks }: CreateOptions): KeyGrant | null {
  const isUsual = !gate && [name, scopes, expires, networks].every((given) => given === undefined);
  if (isUsual) return null;
  return {
    name: name ?? '',
    scopes: gate ? ['gate'] : (scopes ?? DEFAULT_KEY_SCOPES),
    expiresAtSeconds: expires ?? null,
    networks: networks ?? [],
  };
}

function showGrant({ name, scopes, expiresAtSeconds, networks }: KeyGrant): Readonly<Record<string, unknown>> {
  return { name, scopes, expires_at: expiresAtSeconds, networks };
}

/** Keys with the usual rights are written as nodes of earlier versions know them. */
async function makeKeys(
  door: Committer,
  customer: CustomerNumber,
  grant: KeyGrant | null,
  options: KeyOptions,
): Promise<StoreWrite<{ readonly secret: string; readonly open: string | null }>> {
  const origin = { by: 'cli', nowMs: Date.now() } as const;
  if (grant === null) {
    const pair = await createKeyPair(door, customer, options, origin);
    if (pair.kind === 'fault') return pair;
    return { kind: 'ok', value: { secret: pair.value.secret.text, open: pair.value.public.text } };
  }
  const made = newGrantedKeys(customer, grant, options);
  const written = await door.commit(made.change, origin);
  return written.kind === 'fault' ? written : { kind: 'ok', value: { secret: made.secret, open: made.public } };
}

const EVERY_SITE = 'scripts of every web site may use this public key';

function listKeys(store: Store): CommandOutcome {
  const customers = new Map(store.customers.all().map((one) => [one.number, one]));
  const all = store.apiKeys.loadAll();
  return ok(
    {
      keys: all.map((key) => ({
        prefix: key.prefix,
        name: key.name,
        kind: key.kind,
        test: isTestCustomer(key.customer),
        scopes: key.scopes,
        networks: key.networks,
        expires_at: key.expiresAtSeconds,
        customer_id: customers.get(liveCustomerOf(key.customer))?.id ?? null,
        rate_limit: key.rateLimit,
        created_at: key.createdAtSeconds,
        revoked_at: key.revokedAtSeconds,
        origins: key.origins,
      })),
    },
    tableText(
      [
        'Key',
        'Name',
        'Kind',
        'Scopes',
        'Customer',
        'Rate limit',
        'Created',
        'Expires',
        'Revoked',
        'Networks',
        'Origins',
      ],
      all.map((key) => [
        `${key.prefix}…`,
        key.name,
        isTestCustomer(key.customer) ? `${key.kind}, test` : key.kind,
        key.scopes.join(' '),
        customers.get(liveCustomerOf(key.customer))?.name ?? '',
        String(key.rateLimit),
        timeText(key.createdAtSeconds),
        key.expiresAtSeconds === null ? '' : timeText(key.expiresAtSeconds),
        key.revokedAtSeconds === null ? '' : timeText(key.revokedAtSeconds),
        key.networks.join(' '),
        key.origins.join(' '),
      ]),
      'There are no keys yet.',
    ),
  );
}

type Named = (key: ApiKey) => boolean;

const PREFIX_HINT = `give the ${KEY_PREFIX_CHARACTERS} characters of the key that \`keys list\` shows, or the whole key`;

/** Returns a predicate for the keys that the text denotes; null for a text that no listing shows, such as part of a prefix. */
function namedKey(text: string): Named | null {
  if (checkKeyText(text) !== null) {
    const hash = hashOfKey(text);
    return (key) => key.hash === hash;
  }
  const prefix = text.replace(/…$/, '');
  return prefix.length === KEY_PREFIX_CHARACTERS ? (key) => key.prefix === prefix : null;
}

/** Returns the one valid key that is named, after a confirmation. */
async function confirmedKey(
  store: Store,
  named: Named,
  verb: 'Revoke' | 'Replace',
  ask: ConfirmPrompt | null,
): Promise<{ readonly kind: 'key'; readonly key: ApiKey; readonly owner: string } | CommandOutcome> {
  const matches = store.apiKeys.loadAll().filter(named);
  const living = matches.filter((key) => key.revokedAtSeconds === null);
  const [key] = living;
  if (living.length > 1) {
    return failure('ambiguous_prefix', `${living.length} keys begin with ${key?.prefix ?? ''}; give the whole key`);
  }
  if (key === undefined) {
    return matches.length > 0
      ? failure('already_revoked', 'that key is revoked already')
      : failure('unknown_key', 'there is no such key');
  }
  const customer = store.customers.find(key.customer);
  const owner = customer?.name ?? 'an unknown customer';
  if (ask !== null && !(await ask(question(store, key, owner, verb))))
    return failure('not_confirmed', `${key.prefix}… is as it was`);
  return { kind: 'key', key, owner };
}

async function revokeKey(
  store: Store,
  door: Committer,
  named: Named,
  ask: ConfirmPrompt | null,
): Promise<CommandOutcome> {
  const found = await confirmedKey(store, named, 'Revoke', ask);
  if (found.kind !== 'key') return found;
  const { key, owner } = found;
  const nowMs = Date.now();
  const revoked = await door.commit({ kind: 'key.revoked', hash: key.hash }, { by: 'cli', nowMs });
  if (revoked.kind === 'fault') return failureOf(revoked);
  return ok(
    { prefix: key.prefix, kind: key.kind, customer_id: idOf(store, key), revoked_at: Math.floor(nowMs / 1000) },
    `Revoked ${key.prefix}… of ${owner}.`,
  );
}

async function rotateKey(
  store: Store,
  door: Committer,
  named: Named,
  graceSeconds: number,
  ask: ConfirmPrompt | null,
): Promise<CommandOutcome> {
  const found = await confirmedKey(store, named, 'Replace', ask);
  if (found.kind !== 'key') return found;
  const { key, owner } = found;
  const origin = { by: 'cli', nowMs: Date.now() } as const;
  const made = newReplacement(key, new Set(store.apiKeys.loadAll().map(({ prefix }) => prefix)));
  const written = await door.commit(made.change, origin);
  if (written.kind === 'fault') return failureOf(written);
  const { hash } = key;
  const endSeconds = Math.floor(origin.nowMs / 1000) + graceSeconds;
  const replacedBy = made.secret.slice(0, KEY_PREFIX_CHARACTERS);
  // The new key is durable before the old one ends. An earlier end of the old key stays.
  const ended = await door.commit(
    graceSeconds === 0 ? { kind: 'key.revoked', hash } : { kind: 'key.replaced', hash, replacedBy, endSeconds },
    origin,
  );
  if (ended.kind === 'fault') return failureOf(ended);
  const validUntil = graceSeconds === 0 ? null : Math.min(endSeconds, key.expiresAtSeconds ?? Infinity);
  const old = validUntil === null ? '' : ` The old one is valid until ${timeText(validUntil)}.`;
  return ok(
    {
      replaced: key.prefix,
      kind: key.kind,
      customer_id: idOf(store, key),
      [`${key.kind}_key`]: made.secret,
      ...(validUntil !== null && { old_valid_until: validUntil }),
    },
    `Replaced ${key.prefix}… of ${owner}.${old} The new key is shown only now.\n  ${key.kind}  ${made.secret}`,
  );
}

function idOf(store: Store, { customer }: ApiKey): string | null {
  return store.customers.find(customer)?.id ?? null;
}

function question(store: Store, key: ApiKey, owner: string, verb: 'Revoke' | 'Replace'): string {
  const others = store.apiKeys.loadAll().filter(({ customer, kind, hash, revokedAtSeconds }) => {
    return customer === key.customer && kind === key.kind && hash !== key.hash && revokedAtSeconds === null;
  }).length;
  const last = verb === 'Revoke' && others === 0 ? `, the last ${key.kind} one of this customer` : '';
  return `${verb} the ${key.kind} key ${key.prefix}… of ${owner}${last}? It cannot be undone.`;
}

function parseName(text: string): string {
  const name = text.trim();
  if (name !== '' && name.length <= KEY_NAME_CHARACTERS_MAX) return name;
  throw new InvalidArgumentError(`1 to ${KEY_NAME_CHARACTERS_MAX} characters`);
}

function parseScopes(text: string): readonly KeyScope[] {
  const names = text.split(',').map((name) => name.trim());
  const scopes = sortedScopes(names as KeyScope[]);
  if (scopes.length > 0 && scopes.length === new Set(names).size) return scopes;
  throw new InvalidArgumentError(`names of ${KEY_SCOPES.join(', ')}, separated by commas`);
}

function parseNetworks(text: string): readonly string[] {
  const networks = text.split(',').map((one) => canonicalNetwork(one.trim()));
  const known = networks.filter((one) => one !== null);
  if (known.length === networks.length && known.length <= KEY_NETWORKS_MAX) return [...new Set(known)];
  throw new InvalidArgumentError(`at most ${KEY_NETWORKS_MAX} networks such as 203.0.113.0/24, separated by commas`);
}

const DAY_SECONDS = 86_400;
const SPAN_SECONDS: Readonly<Record<string, number>> = { h: 3_600, d: DAY_SECONDS };

function parseExpiry(text: string): number {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const { count, unit = '' } = /^(?<count>\d{1,6})(?<unit>[hd])$/.exec(text)?.groups ?? {};
  const iso = Math.floor(Date.parse(text) / 1000);
  const at =
    count !== undefined
      ? nowSeconds + Number(count) * (SPAN_SECONDS[unit] ?? DAY_SECONDS)
      : /^\d{10,12}$/.test(text)
        ? Number(text)
        : iso;
  if (Number.isSafeInteger(at) && at > nowSeconds) return at;
  throw new InvalidArgumentError('a time in the future: Unix seconds, ISO 8601, or such as 90d');
}

function parseRateLimit(text: string): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > RATE_LIMIT_MAX) throw new InvalidArgumentError(`a whole number from 1 to ${RATE_LIMIT_MAX}`);
  return value;
}

/** Collects the values of a repeated option. `*` stands alone, so that it is never overlooked in a list. */
function addOrigin(text: string, before: readonly string[] = []): readonly string[] {
  const parsed = parseOrigin(text);
  if (parsed.kind === 'fault') throw new InvalidArgumentError(parsed.detail);
  const origins = [...new Set([...before, parsed.origin])];
  if (origins.length > KEY_ORIGINS_MAX) throw new InvalidArgumentError(`at most ${KEY_ORIGINS_MAX} origins`);
  if (origins.length > 1 && origins.includes(ANY_ORIGIN)) {
    throw new InvalidArgumentError(`${ANY_ORIGIN} already contains every origin; give it alone`);
  }
  return origins;
}
