import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  DELIVERY_STATUSES,
  DELIVERY_EVENTS,
  WEBHOOK_FIELDS,
  WEBHOOK_FORMATS,
  WEBHOOK_RETRIES,
} from '../../contract/vocabulary.ts';
import { addApiOptions, type ApiBody, type ApiCaller, type ApiOptions, type ApiReply, openApi } from '../api-access.ts';
import { failure, ok, usage, type CommandOutcome } from '../command-outcome.ts';
import { confirm } from '../confirm.ts';
import { parseTime } from '../parse-time.ts';
import type { Cli } from '../context.ts';
import { parseEvents, type SubscribedEvents } from '../decision-names.ts';
import { parseGrace } from '../grace-option.ts';
import { tableText, timeText } from '../text-table.ts';

/** Choice: a page of the API. */
const DELIVERIES_SHOWN_MAX = 100;
const DELIVERIES_SHOWN_DEFAULT = 20;

/** What a webhook can be made with or changed to. */
interface WebhookOptions extends ApiOptions {
  readonly target?: string;
  readonly events?: SubscribedEvents;
  readonly description?: string;
  readonly filter?: string;
  readonly format?: string;
  readonly fields?: string;
  readonly retry?: string;
  readonly disable?: boolean;
  readonly enable?: boolean;
}

interface DeliveryFilters extends ApiOptions {
  readonly webhook?: string;
  readonly request?: string;
  readonly status?: string;
  readonly event?: string;
  readonly limit: number;
}

export function addWebhooks(cli: Cli): void {
  const webhooks = cli.program.command('webhooks').description("customers' webhooks, through a running server");
  addReads(cli, webhooks);
  addWrites(cli, webhooks);
  addDeliveries(cli, webhooks);
}

function addReads(cli: Cli, webhooks: Command): void {
  addApiOptions(webhooks.command('list').description('show the webhooks, newest first')).action((options: ApiOptions) =>
    runOn(cli, options, async (api) => {
      const reply = await api.get('/v1/webhooks?limit=100');
      return reply.kind === 'error' ? reply : ok({ webhooks: rowsIn(reply.body) }, webhookTable(rowsIn(reply.body)));
    }),
  );

  addApiOptions(webhooks.command('show <id>').description('show a webhook with its health')).action(
    (id: string, options: ApiOptions) =>
      runOn(cli, options, async (api) => shown(await api.get(pathOf('/v1/webhooks', id)))),
  );
}

/** Adds the options that `create` and `update` share. */
function withFields(command: Command): Command {
  return command
    .option('--description <text>', 'a text for people; "" removes it')
    .option('--filter <condition>', 'only events for which it is true are sent; "" removes it')
    .addOption(new Option('--format <format>', 'format of the bodies').choices(WEBHOOK_FORMATS))
    .addOption(new Option('--fields <fields>', 'how much a body has').choices(WEBHOOK_FIELDS))
    .addOption(new Option('--retry <retry>', 'how long failed deliveries are retried').choices(WEBHOOK_RETRIES));
}

function addWrites(cli: Cli, webhooks: Command): void {
  addApiOptions(
    withFields(webhooks.command('create <target>'))
      .description('make a webhook, and print its secret: nothing shows it again')
      .requiredOption('--events <events>', 'decisions and further events, separated by commas', parseEvents),
  ).action((target: string, options: WebhookOptions) =>
    runOn(cli, options, async (api) => shown(await api.post('/v1/webhooks', bodyOf({ ...options, target })))),
  );

  addApiOptions(
    withFields(webhooks.command('update <id>'))
      .description('change what is given; the secret is kept')
      .option('--target <url>', 'send to this URL')
      .option('--events <events>', 'decisions and further events, separated by commas', parseEvents)
      .addOption(new Option('--disable', 'send nothing; pending deliveries end as skipped').conflicts('enable'))
      .option('--enable', 'send again'),
  ).action((id: string, options: WebhookOptions) =>
    cli.run(async () => {
      const change = bodyOf(options);
      if (Object.keys(change).length === 0) return usage('nothing_given', 'name what to change, such as --disable');
      return withApi(cli, options, async (api) => shown(await api.patch(pathOf('/v1/webhooks', id), change)));
    }),
  );

  addApiOptions(
    webhooks
      .command('delete <id>')
      .description('delete a webhook; its pending deliveries end as skipped')
      .option('--yes', 'skip the confirmation, which is only asked on a terminal', false),
  ).action((id: string, options: ApiOptions & { readonly yes: boolean }) =>
    runOn(cli, options, async (api) => {
      if (!options.yes && !(await confirm(`Delete ${id}?`))) return failure('not_confirmed', `${id} was not deleted`);
      const reply = await api.remove(pathOf('/v1/webhooks', id));
      return reply.kind === 'error' ? reply : ok({ id, deleted: true }, `${id} is deleted.`);
    }),
  );

  addApiOptions(
    webhooks
      .command('rotate <id>')
      .description('make a new secret, and print it: nothing shows it again')
      .option('--grace <seconds>', 'how long the old one keeps signing (default: a day)', parseGrace),
  ).action((id: string, options: ApiOptions & { readonly grace?: number }) =>
    runOn(cli, options, async (api) => {
      const body = options.grace === undefined ? {} : { grace_seconds: options.grace };
      return shown(await api.post(pathOf('/v1/webhooks', id, 'rotate'), body));
    }),
  );
}

function addDeliveries(cli: Cli, webhooks: Command): void {
  addApiOptions(
    webhooks.command('test <id>').description('send an example event now; exit code 1 if it is not accepted'),
  ).action((id: string, options: ApiOptions) =>
    runOn(cli, options, async (api) => delivered(await api.post(pathOf('/v1/webhooks', id, 'test'), {}), true)),
  );

  addApiOptions(
    webhooks
      .command('deliveries [delivery_id]')
      .description('show the deliveries, newest first, or one of them with its attempts')
      .option('--webhook <id>', 'only those to this webhook')
      .option('--request <id>', 'only those about this decision or extraction')
      .addOption(new Option('--status <status>', 'only those with this status').choices(DELIVERY_STATUSES))
      .addOption(new Option('--event <event>', 'only those of this event').choices(DELIVERY_EVENTS))
      .option(
        '--limit <deliveries>',
        `at most this many, up to ${DELIVERIES_SHOWN_MAX}`,
        parseLimit,
        DELIVERIES_SHOWN_DEFAULT,
      ),
  ).action((id: string | undefined, options: DeliveryFilters) =>
    runOn(cli, options, async (api) => {
      if (id !== undefined) return delivered(await api.get(pathOf('/v1/webhooks/deliveries', id)), false);
      return listDeliveries(api, options);
    }),
  );

  addApiOptions(
    webhooks
      .command('recover <id>')
      .description('deliver the decisions of a period that never arrived, oldest first')
      .requiredOption('--since <time>', 'decisions from then on: Unix seconds, or a date such as 2026-11-01', parseTime)
      .option('--until <time>', 'decisions before then (default: now)', parseTime),
  ).action(
    (id: string, { since, until, ...options }: ApiOptions & { readonly since: number; readonly until?: number }) =>
      runOn(cli, options, (api) => recoverAll(api, id, { since, ...(until !== undefined && { until }) })),
  );

  addApiOptions(
    webhooks.command('retry <delivery_id>').description('send the same bytes again, as a new delivery'),
  ).action((id: string, options: ApiOptions) =>
    runOn(cli, options, async (api) =>
      delivered(await api.post(pathOf('/v1/webhooks/deliveries', id, 'retry'), {}), false),
    ),
  );
}

/** Calls until nothing is left: a call recovers at most 10,000. */
async function recoverAll(api: ApiCaller, id: string, body: ApiBody): Promise<CommandOutcome> {
  let queued = 0;
  for (;;) {
    const reply = await api.post(pathOf('/v1/webhooks', id, 'recover'), body);
    if (reply.kind === 'error') return reply;
    const found = reply.body as { queued: number; delivered: number; left: number; known_since: number | null };
    queued += found.queued;
    if (found.left > 0 && found.queued > 0) continue;
    const { left, known_since: knownSince } = found;
    const lines = [`${queued} queued, ${left === 0 ? 'none' : left} left`];
    if (knownSince !== null)
      lines.push(
        `Nothing before ${new Date(knownSince * 1_000).toISOString()}: older deliveries are not known any more.`,
      );
    return ok({ id, queued, left, known_since: knownSince }, lines.join('\n'));
  }
}

type OnApi = (api: ApiCaller) => Promise<CommandOutcome>;

function runOn(cli: Cli, options: ApiOptions, work: OnApi): Promise<void> {
  return cli.run(() => withApi(cli, options, work));
}

async function withApi(cli: Cli, options: ApiOptions, work: OnApi): Promise<CommandOutcome> {
  const opened = await openApi(cli, options);
  return opened.kind === 'error' ? opened : work(opened.api);
}

function pathOf(base: string, id: string, action?: string): string {
  return `${base}/${encodeURIComponent(id)}${action === undefined ? '' : `/${action}`}`;
}

/** An empty description or filter removes it. */
function bodyOf({
  target,
  events,
  description,
  filter,
  format,
  fields,
  retry,
  disable,
  enable,
}: WebhookOptions): ApiBody {
  return {
    ...(target !== undefined && { url: target }),
    ...(events !== undefined && { event_types: events.decisions, events: events.notices }),
    ...(description !== undefined && { description: description === '' ? null : description }),
    ...(filter !== undefined && { filter: filter === '' ? null : filter }),
    ...(format !== undefined && { format }),
    ...(fields !== undefined && { fields }),
    ...(retry !== undefined && { retry }),
    ...(disable === true && { disabled: true }),
    ...(enable === true && { disabled: false }),
  };
}

async function listDeliveries(
  api: ApiCaller,
  { webhook, request, status, event, limit }: DeliveryFilters,
): Promise<CommandOutcome> {
  const query = new URLSearchParams({
    limit: String(limit),
    ...(webhook !== undefined && { webhook_id: webhook }),
    ...(request !== undefined && { request_id: request }),
    ...(status !== undefined && { status }),
    ...(event !== undefined && { event }),
  });
  const reply = await api.get(`/v1/webhooks/deliveries?${query.toString()}`);
  if (reply.kind === 'error') return reply;
  const rows = rowsIn(reply.body);
  const lines = rows.map((row) => [
    textIn(row, 'id'),
    textIn(row, 'event'),
    textIn(row, 'status'),
    textIn(row, 'attempt_count'),
    lastOf(row),
    timeIn(row, 'created_at'),
    textIn(row, 'request_id'),
  ]);
  const head = ['Delivery', 'Event', 'Status', 'Attempts', 'Last', 'Created', 'Request'];
  return ok({ deliveries: rows }, tableText(head, lines, 'There are no deliveries.'));
}

function lastOf(row: ApiBody): string {
  return textIn(row, 'last_status_code') || textIn(row, 'last_error');
}

function shown(reply: ApiReply): CommandOutcome {
  if (reply.kind === 'error') return reply;
  return ok(reply.body, `${webhookTable([reply.body])}\nSecret: ${textIn(reply.body, 'secret')}`);
}

function webhookTable(rows: readonly ApiBody[]): string {
  const lines = rows.map((row) => [
    textIn(row, 'id'),
    textIn(row, 'url'),
    (Array.isArray(row['event_types']) ? row['event_types'] : []).join(', '),
    row['disabled'] === true ? 'disabled' : textIn(row, 'status'),
    timeIn(row, 'last_success_at'),
    timeIn(row, 'last_failure_at'),
    textIn(row, 'description'),
  ]);
  const head = ['Webhook', 'URL', 'Events', 'Status', 'Last success', 'Last failure', 'Description'];
  return tableText(head, lines, 'There are no webhooks.');
}

/** `mustSucceed`: exit code 1 if the receiver did not accept it. */
function delivered(reply: ApiReply, mustSucceed: boolean): CommandOutcome {
  if (reply.kind === 'error') return reply;
  const { body } = reply;
  const attempts = (Array.isArray(body['attempts']) ? body['attempts'] : []) as readonly ApiBody[];
  const text = [
    `${textIn(body, 'id')}  ${textIn(body, 'event')}  ${textIn(body, 'status')}  ${textIn(body, 'url')}`,
    ...attempts.map((one) => {
      const outcome = textIn(one, 'status_code') || textIn(one, 'error');
      return `  ${textIn(one, 'attempt')}  ${timeIn(one, 'started_at')}  ${outcome}  ${textIn(one, 'duration_ms')} ms`;
    }),
  ].join('\n');
  return ok(body, text, mustSucceed && body['status'] !== 'succeeded');
}

function rowsIn(body: ApiBody): readonly ApiBody[] {
  return (Array.isArray(body['data']) ? body['data'] : []) as readonly ApiBody[];
}

function textIn(row: ApiBody, name: string): string {
  const value = row[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function timeIn(row: ApiBody, name: string): string {
  const value = row[name];
  return typeof value === 'number' ? timeText(value) : '';
}

function parseLimit(text: string): number {
  const value = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > DELIVERIES_SHOWN_MAX) {
    throw new InvalidArgumentError(`a whole number from 1 to ${DELIVERIES_SHOWN_MAX}`);
  }
  return value;
}
