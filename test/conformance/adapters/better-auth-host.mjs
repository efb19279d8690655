// Signs up and in at better-auth behind the plugin. One case an argument: url|key|mode|password. Prints the statuses.
import { betterAuth } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';
import { gatehouse } from './better-auth.mjs';

const database = { user: [], session: [], account: [], verification: [], rateLimit: [] };
function authOf(...plugins) {
  return betterAuth({
    baseURL: 'http://shop.example',
    secret: '0123456789abcdef0123456789abcdef',
    database: memoryAdapter(database),
    emailAndPassword: { enabled: true },
    rateLimit: { enabled: false },
    logger: { disabled: true },
    plugins,
  });
}
async function post(auth, path, body) {
  const request = new Request(`http://shop.example/api/auth${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': '9.9.9.9, 81.2.69.160',
      'user-agent': 'Mozilla/5.0',
      origin: 'http://shop.example',
    },
    body: JSON.stringify(body),
  });
  return (await auth.handler(request)).status;
}
const account = { email: 'anna@example.com', password: 'right-password', name: 'Anna' };
if ((await post(authOf(), '/sign-up/email', account)) !== 200) throw new Error('no account');
for (const one of process.argv.slice(2)) {
  const [apiUrl, apiKey, mode, password] = one.split('|');
  const action = mode === 'enforce' ? 'block' : 'log';
  const auth = authOf(gatehouse({ apiUrl, apiKey, security: { action }, trustProxy: 1, timeoutMs: 20_000 }));
  const status = await post(auth, '/sign-in/email', { ...account, password: `${password}-password` });
  console.log(status);
}
