import type { ExtraHeaders, Webhook, WebhookSecrets } from '../work/webhook.ts';
import type { Subscribers } from './due-delivery.ts';

/** Endpoint that receives an extraction job's results. Source: contract, 11.4. */
export interface PrefetchEndpoint {
  readonly url: string;
  readonly secrets: WebhookSecrets;
}

/** An endpoint whose secrets or headers may not be readable: null. */
interface MaybeReadable {
  readonly url: string;
  readonly secrets: WebhookSecrets | null;
  readonly headers: ExtraHeaders | null;
}

export interface DeliveryEndpointParts {
  readonly subscribers: Subscribers;
  /** Either returns null if its values cannot be read. */
  readonly webhooks: {
    secretsOf(webhook: Webhook): WebhookSecrets | null;
    headersOf(webhook: Webhook): ExtraHeaders | null;
  };
  /** Returns null unless the id belongs to a job whose delivery is pending. */
  extractionEndpoint(endpointId: string): PrefetchEndpoint | null;
}

/** Returns null for an endpoint that is gone. */
export function readEndpoint(parts: DeliveryEndpointParts, endpointId: string): MaybeReadable | null {
  const { subscribers, webhooks } = parts;
  const webhook = subscribers.find(endpointId)?.webhook;
  if (webhook !== undefined)
    return { url: webhook.url, secrets: webhooks.secretsOf(webhook), headers: webhooks.headersOf(webhook) };
  const own = parts.extractionEndpoint(endpointId);
  return own && { ...own, headers: {} };
}
