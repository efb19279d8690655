import { InvalidArgumentError } from 'commander';
import { checkKeyText, KEY_PREFIX_CHARACTERS } from '../../kernel/key-text.ts';
import { ANY_ORIGIN, parseOrigin } from '../../kernel/origin.ts';
import { KEY_ORIGINS_MAX } from '../../kernel/limits.ts';
import type { Committer } from '../../state/feed/changes.ts';
import { createKeyPair } from '../../state/feed/key-changes.ts';
import { type ApiKey, hashOfKey } from '../../state/tables/key-table.ts';
import type { Store } from '../../state/feed/open-store.ts';
import type { Cli } from '../context.ts';
import { confirm, type ConfirmPrompt } from '../confirm.ts';
import { failure, failureOf, ok, usage, type CommandOutcome } from '../command-outcome.ts';
import { tableText, timeText } from '../text-table.ts';
import { withStore } from '../with-store.ts';

/** Choice: more requests than any machine handles per window. */
const RATE_LIMIT_MAX = 0xffff_ffff;

interface CreateOptions {
  readonly customer: string;
  readonly rateLimit?: number;
  readonly origin?: readonly string[];
}

export function addKeys(cli: Cli): void {
  const keys = cli.program.command('keys').description('API keys');

  keys
    .command('create')
    .description('create a pair of keys, a secret and a public one; they are shown only once')
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .option('--rate-limit <requests>', 'requests per window of 60 s, for each of the two keys', parseRateLimit)
    .option(
      '--origin <origin>',
      `a web site whose scripts may use the public key, such as https://shop.example; repeatable, up to ${KEY_ORIGINS_MAX}; '*' for every site`,
      addOrigin,
    )
    .action((options: CreateOptions) =>
      cli.run(async () => withStore(cli.globals().dataDir, (store, door) => createKeys(store, door, options))),
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
  const { rateLimit = null, origin: origins = [] } = options;
  const origin = { by: 'cli', nowMs: Date.now() } as const;
  const made = await createKeyPair(door, customer.number, { rateLimit, origins }, origin);
  if (made.kind === 'fault') return failureOf(made);
  const { secret, public: open } = made.value;
  const warning = origins.includes(ANY_ORIGIN) ? EVERY_SITE : null;
  return ok(
    {
      customer_id: customer.id,
      secret_key: secret.text,
      public_key: open.text,
      ...(origins.length > 0 && { origins }),
      ...(warning !== null && { warning }),
    },
    [
      `Keys of ${customer.name} (${customer.id}). They are shown only now.`,
      `  secret  ${secret.text}`,
      `  public  ${open.text}`,
      ...(origins.length > 0 ? [`  scripts that may use the public key: ${origins.join(', ')}`] : []),
      ...(warning === null ? [] : [`Warning: ${warning}`]),
    ].join('\n'),
  );
}

const EVERY_SITE = 'scripts of every web site may use this public key';

function listKeys(store: Store): CommandOutcome {
  const customers = new Map(store.customers.all().map((one) => [one.number, one]));
  const all = store.apiKeys.loadAll();
  return ok(
    {
      keys: all.map((key) => ({
        prefix: key.prefix,
        kind: key.kind,
        customer_id: customers.get(key.customer)?.id ?? null,
        rate_limit: key.rateLimit,
        created_at: key.createdAtSeconds,
        revoked_at: key.revokedAtSeconds,
        origins: key.origins,
      })),
    },
    tableText(
      ['Key', 'Kind', 'Customer', 'Rate limit', 'Created', 'Revoked', 'Origins'],
      all.map((key) => [
        `${key.prefix}…`,
        key.kind,
        customers.get(key.customer)?.name ?? '',
        String(key.rateLimit),
        timeText(key.createdAtSeconds),
        key.revokedAtSeconds === null ? '' : timeText(key.revokedAtSeconds),
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

async function revokeKey(
  store: Store,
  door: Committer,
  named: Named,
  ask: ConfirmPrompt | null,
): Promise<CommandOutcome> {
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
  if (ask !== null && !(await ask(question(store, key, owner)))) {
    return failure('not_confirmed', `${key.prefix}… was not revoked`);
  }
  const nowMs = Date.now();
  const revoked = await door.commit({ kind: 'key.revoked', hash: key.hash }, { by: 'cli', nowMs });
  if (revoked.kind === 'fault') return failureOf(revoked);
  return ok(
    { prefix: key.prefix, kind: key.kind, customer_id: customer?.id ?? null, revoked_at: Math.floor(nowMs / 1000) },
    `Revoked ${key.prefix}… of ${owner}.`,
  );
}

function question(store: Store, key: ApiKey, owner: string): string {
  const others = store.apiKeys.loadAll().filter(({ customer, kind, hash, revokedAtSeconds }) => {
    return customer === key.customer && kind === key.kind && hash !== key.hash && revokedAtSeconds === null;
  }).length;
  const last = others === 0 ? `, the last ${key.kind} one of this customer` : '';
  return `Revoke the ${key.kind} key ${key.prefix}… of ${owner}${last}? It cannot be undone.`;
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
