import { randomUUID } from 'node:crypto';
import { Argument, Option } from 'commander';
import { DECISIONS } from '../../contract/vocabulary.ts';
import { createClient } from '../../client/client.ts';
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
  readonly forwardTo?: string;
  readonly secret?: string;
  readonly key?: string;
  readonly url: string;
}

/** The test inputs. Source: contract, 3.11. */
const EMAILS: Readonly<Record<Decision, string>> = {
  ALLOW: 'allow@gatehouse.test',
  ALLOW_WATCH: 'watch@gatehouse.test',
  SOFT_CHALLENGE: 'challenge@gatehouse.test',
  REVIEW: 'review@gatehouse.test',
  BLOCK: 'block@gatehouse.test',
};

export function addTrigger(cli: Cli): void {
  cli.program
    .command('trigger')
    .description(
      'send an example of the event of a decision to a receiver of yours, or make the decision with a test key',
    )
    .addArgument(new Argument('<decision>', 'which decision').choices(DECISIONS))
    .option('--forward-to <url>', 'send the event from here, without a server')
    .option('--secret <secret>', 'with --forward-to: sign with this secret, whsec_… (default: a new one)')
    .addOption(
      new Option(
        '--key <key>',
        'decide with this test key, sk_test_…: its webhooks and `listen` get the event',
      ).conflicts(['forwardTo', 'secret']),
    )
    .option('--url <url>', 'with --key: address of the service', SERVICE_URL_DEFAULT)
    .action((decision: Decision, options: TriggerOptions) =>
      cli.run(() => {
        const { forwardTo, key } = options;
        if (key !== undefined) return decideTest(decision, key, options.url);
        if (forwardTo !== undefined) return sendExample(decision, forwardTo, options.secret);
        return Promise.resolve(usage('no_target', 'give --forward-to <url> or --key sk_test_…'));
      }),
    );
}

/** Live keys are refused: the decision would count in the history of live traffic, without being the one that was asked for. */
async function decideTest(decision: Decision, key: string, url: string): Promise<CommandOutcome> {
  if (checkKeyText(key) === null || !/^[sp]k_test_/.test(key)) {
    return usage('malformed_key', 'that is not a complete test key: `keys create --test` makes one');
  }
  if (serviceOrigin(url) === null) return usage('malformed_url', `${url} is not an http or https URL`);
  const client = createClient({ url, key });
  const answer = await client.decide({
    event_type: 'trigger',
    session_token: `trigger-${randomUUID()}`,
    ip: '203.0.113.7',
    user_agent: 'gatehouse trigger',
    entity_keys: { email: EMAILS[decision] },
  });
  if (answer.kind === 'unreachable') return failure('unreachable', `no answer from ${url}: ${answer.detail}`);
  const body = Object(answer.body) as Readonly<Record<string, unknown>>;
  const { decision: made, request_id: requestId, code, detail } = body;
  if (answer.status !== 200) {
    const isProblem = typeof code === 'string' && typeof detail === 'string';
    return isProblem ? failure(code, detail) : failure('unexpected_answer', `the answer has status ${answer.status}`);
  }
  return ok(body, `${String(made)}  ${String(requestId)}`, made !== decision);
}

async function sendExample(
  decision: Decision,
  url: string,
  secret: string = newLocalSecret(),
): Promise<CommandOutcome> {
  if (serviceOrigin(url) === null) return usage('malformed_url', `${url} is not an http or https URL`);
  if (!isWebhookSecret(secret)) return usage('malformed_secret', 'a secret is whsec_ and at least 24 bytes in base64');
  const nowMs = Date.now();
  const requestId = newId('req', nowMs);
  const delivery = newDelivery(decision, requestId, exampleEvent(Math.floor(nowMs / 1000), requestId, decision));
  const attempt = await sendLocally(url, secret, delivery);
  const text = `Signed with ${secret}\n${attemptText(delivery, attempt)}`;
  return ok({ secret, ...attemptJson(delivery, attempt) }, text, !isAccepted(attempt));
}
