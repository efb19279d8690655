import { checkWebhook, type VerifiedWebhook, type VerifyInput } from './webhook-check.ts';

/** Like `verifyWebhook`, with WebCrypto: for every runtime. */
export async function verifyWebhookWeb(input: VerifyInput): Promise<VerifiedWebhook> {
  const steps = checkWebhook(input);
  let step = steps.next();
  while (step.done !== true) {
    const { key, data } = step.value;
    const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    step = steps.next(new Uint8Array(await crypto.subtle.sign('HMAC', imported, data)));
  }
  return step.value;
}
