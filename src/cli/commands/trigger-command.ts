import { Argument } from 'commander';
import { DECISIONS } from '../../contract/vocabulary.ts';
import { newId } from '../../kernel/ids.ts';
import type { Decision } from '../../risk/decision.ts';
import { exampleEvent } from '../../work/webhook-event.ts';
import { serviceOrigin } from '../api-access.ts';
import { ok, usage, type CommandOutcome } from '../command-outcome.ts';
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
  readonly forwardTo: string;
  readonly secret?: string;
}

export function addTrigger(cli: Cli): void {
  cli.program
    .command('trigger')
    .description('send an example of the event of a decision to a receiver of yours, without a server')
    .addArgument(new Argument('<decision>', 'which decision').choices(DECISIONS))
    .requiredOption('--forward-to <url>', 'the receiver')
    .option('--secret <secret>', 'sign with this secret, whsec_… (default: a new one)')
    .action((decision: Decision, options: TriggerOptions) => cli.run(() => sendExample(decision, options)));
}

async function sendExample(
  decision: Decision,
  { forwardTo: url, secret = newLocalSecret() }: TriggerOptions,
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
