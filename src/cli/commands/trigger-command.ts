import { Argument } from 'commander';
import { DECISIONS } from '../../contract/vocabulary.ts';
import { newId } from '../../kernel/ids.ts';
import { checkKeyText } from '../../kernel/key-text.ts';
import type { Decision } from '../../risk/decision.ts';
import { exampleEvent } from '../../work/webhook-event.ts';
import { SERVICE_URL_DEFAULT, serviceOrigin } from '../api-access.ts';
import { failure, ok, usage, type CommandOutcome } from '../command-outcome.ts';
import type { Cli } from '../context.ts';
import {
  attemptJson,
  attemptText,
  isAccepted,
  isWebhookSecret,
  newDelivery,
  newLocalSecret,
  sendLocally,
} from '../local-delivery.ts';

interface TriggerOptions {
  readonly key?: string;
  readonly url: string;
  readonly forwardTo?: string;
  readonly secret?: string;
}

export function addTrigger(cli: Cli): void {
  cli.program
    .command('trigger')
    .description('make a decision of a test key, with all that follows from it, or send an example of its event')
    .addArgument(new Argument('<decision>', 'which decision').choices(DECISIONS))
    .option('--key <key>', 'a test key, sk_test_… or pk_test_…: the decision is made by its magic e-mail address')
    .option('--url <url>', 'with --key: address of the service', SERVICE_URL_DEFAULT)
    .option('--forward-to <url>', 'send an example of the event to this receiver, without a server')
    .option('--secret <secret>', 'with --forward-to: sign with this secret, whsec_… (default: a new one)')
    .action((decision: Decision, options: TriggerOptions) => cli.run(() => trigger(decision, options)));
}

const NOTHING_NAMED = usage(
  'nothing_named',
  'name a test key by --key, or a receiver by --forward-to; a live key would count and deliver a decision that nobody asked for',
);

async function trigger(decision: Decision, options: TriggerOptions): Promise<CommandOutcome> {
  const { key, forwardTo, secret } = options;
  if ((key === undefined) === (forwardTo === undefined)) return NOTHING_NAMED;
  if (forwardTo !== undefined) return sendExample(decision, forwardTo, secret ?? newLocalSecret());
  return decideAsTest(decision, key ?? '', options.url);
}

async function sendExample(decision: Decision, url: string, secret: string): Promise<CommandOutcome> {
  if (serviceOrigin(url) === null) return usage('malformed_url', `${url} is not an http or https URL`);
  if (!isWebhookSecret(secret)) return usage('malformed_secret', 'a secret is whsec_ and at least 24 bytes in base64');
  const nowMs = Date.now();
  const requestId = newId('req', nowMs);
  const delivery = newDelivery(decision, requestId, exampleEvent(Math.floor(nowMs / 1000), requestId, decision));
  const attempt = await sendLocally(url, secret, delivery);
  const text = `Signed with ${secret}\n${attemptText(delivery, attempt)}`;
  return ok({ secret, ...attemptJson(delivery, attempt) }, text, !isAccepted(attempt));
}

/** Addresses that decide under test keys. */
const MAGIC_ADDRESSES: Readonly<Record<Decision, string>> = {
  ALLOW: 'allow@gatehouse.test',
  ALLOW_WATCH: 'watch@gatehouse.test',
  SOFT_CHALLENGE: 'challenge@gatehouse.test',
  REVIEW: 'review@gatehouse.test',
  BLOCK: 'block@gatehouse.test',
};

async function decideAsTest(decision: Decision, key: string, url: string): Promise<CommandOutcome> {
  if (!/^[sp]k_test_/.test(key)) return NOTHING_NAMED;
  if (checkKeyText(key) === null) {
    return failure('malformed_key', 'that is not a complete key: its format or its checksum is wrong');
  }
  if (serviceOrigin(url) === null) return usage('malformed_url', `${url} is not an http or https URL`);
  // Loaded only here: it takes as long as everything else.
  const { createClient } = await import('../../client/client.ts');
  const client = createClient({ url, key, connections: 1 });
  const answer = await client.decide({
    event_type: 'login',
    session_token: 'gatehouse-trigger',
    ip: '192.0.2.1',
    entity_keys: { email: MAGIC_ADDRESSES[decision] },
  });
  await client.close();
  if (answer.kind === 'unreachable') return failure('unreachable', `no answer from ${url}: ${answer.detail}`);
  if (typeof answer.body !== 'object' || answer.body === null) {
    return failure('unexpected_answer', `the answer has status ${answer.status} and is not a JSON object`);
  }
  const made = 'decision' in answer.body ? answer.body.decision : null;
  return ok(answer.body, JSON.stringify(answer.body, null, 2), made !== decision);
}
