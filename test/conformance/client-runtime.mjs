// What the client does on any runtime, against the double. Arguments: address of the double, address of dist/index.mjs. Prints JSON.

const [target, entry] = (globalThis.Deno?.args ?? process.argv.slice(2)).slice(-2);
const { Challenges, Gatehouse, verifyWebhook } = await import(entry);

const KEY = 'sk_live_double';
const REQUEST = {
  event_type: 'login',
  session_token: 's1',
  ip: '81.2.69.160',
  entity_keys: { email: 'zoë 🍵@example.com' },
};
const at = (behaviour, options = {}) =>
  new Gatehouse({
    url: behaviour.startsWith('http') ? behaviour : `${target}/${behaviour}`,
    key: KEY,
    timeoutMs: 20_000,
    ...options,
  });

const results = {};
for (const behaviour of ['good', 'closed-once', 'bad-gateway-once', 'clock']) {
  const { decision, failedOpen } = await at(behaviour).decide(REQUEST);
  results[behaviour] = [decision, failedOpen];
}
for (const [behaviour, options] of [
  ['silent', { timeoutMs: 500 }],
  ['drip', { timeoutMs: 500 }],
  ['closed', {}],
  ['broken', {}],
  ['overloaded', {}],
  ['http://127.0.0.1:9', { onUnavailable: 'challenge' }],
]) {
  const { decision, failure } = await at(behaviour, options).decide(REQUEST);
  results[behaviour] = [decision, failure];
}
results.forbidden = await at('forbidden')
  .decide(REQUEST)
  .catch(({ status, code }) => [status, code]);

const client = at('good');
const made = await client.decide(REQUEST);
const challenges = new Challenges(client);
const { ticket, code } = challenges.begin(made, 'anna', true);
results.challenge = challenges.answer(ticket, code);
await client.flush();

const visitor = new Request('https://shop.example/login', { headers: { 'x-forwarded-for': '9.9.9.9, 81.2.69.160' } });
results.address = client.fromRequest(visitor, { trustProxy: 1 }).ip;

const webhook = {
  headers: new Headers({
    'webhook-id': 'dlv_01KB2R4T01BBBBBBBBBBBBBBBB',
    'webhook-timestamp': '1795996800',
    'webhook-signature': 'v1,6LNyAPRz1AyipIznv2HDV0YW772Dx2/l4HatSEgLyms=',
  }),
  body: '{"event":"ALLOW","request_id":"req_01KB2R4T00BBBBBBBBBBBBBBBB","decision":"ALLOW","score":0,"reasons":[],"timestamp":1795996799}',
  secrets: 'whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=',
  nowMs: 1_795_996_800_000,
};
results.webhook = [
  (await verifyWebhook(webhook)).kind,
  (await verifyWebhook({ ...webhook, body: `${webhook.body} ` })).reason,
];
console.log(JSON.stringify(results));
