import { createKeyPair, newCustomer } from '../state/feed/key-changes.ts';
import type { SignInLink } from './dashboard-state.ts';
import type { Store } from '../state/feed/open-store.ts';

/** The demo customer's key pair in full. Shown once, on the terminal of the first start, and never logged. */
export interface DemoKeys {
  readonly secretKey: string;
  readonly publicKey: string;
}

/** Creates the customer `demo` with one key pair on a first start. Source: contract, 15.5. */
export async function makeDemoCustomer(store: Store, nowMs: number): Promise<DemoKeys> {
  const origin = { by: 'service', nowMs } as const;
  const customer = await store.changes.commit(newCustomer('demo', nowMs), origin);
  if (customer.kind === 'fault') throw new Error(customer.detail);
  const pair = await createKeyPair(store.changes, customer.value.number, {}, origin);
  if (pair.kind === 'fault') throw new Error(pair.detail);
  return { secretKey: pair.value.secret.text, publicKey: pair.value.public.text };
}

const EXAMPLE_BODY = JSON.stringify({
  ip: '81.2.69.160',
  user_agent:
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/139.0.0.0 Safari/537.36',
  url: 'https://shop.example/login',
  session_token: 'my-first-session',
  entity_keys: { email: 'anna@example.com' },
  event_type: 'login',
});

/** Returns how this program is called from the folder that it was started in: as an installed package, or in its own folder. */
export function commandPrefix(moduleUrl: string): string {
  return moduleUrl.includes('/node_modules/') ? 'npx gatehouse' : 'npm run -s gatehouse --';
}

/** Prints a command that signs a request: a signed request would expire in five minutes and work only once. */
export function printDemoKeys(keys: DemoKeys, url: string, link: SignInLink | null): void {
  process.stderr.write(
    [
      '',
      'This is the first start: the customer "demo" was created. Its keys are shown only once:',
      '',
      `  secret key  ${keys.secretKey}`,
      `  public key  ${keys.publicKey}`,
      '',
      'A first decision, in another terminal, from this folder:',
      '',
      `  echo '${EXAMPLE_BODY}' |`,
      `    ${commandPrefix(import.meta.url)} decide --key ${keys.secretKey} --url ${url} --file -`,
      '',
      ...(link === null
        ? []
        : ['The dashboard, signed in (the link works once, within 10 minutes):', '', `  ${link.url}`, '']),
      '',
    ].join('\n'),
  );
}
