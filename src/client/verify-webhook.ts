import { createHmac } from 'node:crypto';
import { checkWebhook, type VerifiedWebhook, type VerifyInput } from './webhook-check.ts';

/**
 * For receivers on Node.js: verifies that a delivery is from the service, unmodified and recent; see `WebhookScheme` for what each scheme
 * guarantees. The reason of a refusal is meant for the receiver's log. Never throws because of a sender's input, and fails closed.
 */
export function verifyWebhook(input: VerifyInput): VerifiedWebhook {
  const steps = checkWebhook(input);
  let step = steps.next();
  while (step.done !== true) {
    const { key, data } = step.value;
    step = steps.next(createHmac('sha256', key).update(data).digest());
  }
  return step.value;
}
