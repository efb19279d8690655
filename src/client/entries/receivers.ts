/** `@gatehouse/client/webhooks`: for receivers on Node.js. One file without dependencies, which can be copied. */
export { verifyWebhook } from '../verify-webhook.ts';
export type { VerifiedWebhook, VerifyInput, VerifyReason, WebhookHeaders, WebhookScheme } from '../webhook-check.ts';
