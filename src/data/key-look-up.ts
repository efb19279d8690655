import type { GuardedClient } from '../egress/guarded-client.ts';
import type { SharedText } from '../kernel/shared-text.ts';
import { DIRECTORY_PATH } from '../risk/signals/bot-signature.ts';
import { signerAt } from '../risk/signals/claimed-agent.ts';
import { type DirectoryKey, type KeyDirectory, parseKeyDirectory } from '../risk/signals/signer-keys.ts';
import type { LookUp } from './look-ups.ts';

const FETCH_MS_MAX = 10_000;
const CONNECT_MS_MAX = 5_000;
/** Choice: many times the directory of an operator. */
const RESPONSE_BYTES_MAX = 65_536;
/** Choice: how long a removed key may still verify, and a new one is not known, in the worst case. */
const FETCHED_SECONDS = 3_600;
/** Choice: an outage of a directory ends within minutes. */
const FAILED_SECONDS = 600;

/**
 * Fetches the key directory of a host of the manifest for all threads that score. One that cannot be fetched keeps the keys from before. A
 * redirect is a failure. Source: draft-ietf-webbotauth-httpsig-protocol, 5.5 and 6.10.
 */
export function keyLookUp(
  client: Pick<GuardedClient, 'request'>,
  text: Pick<SharedText, 'write'>,
  userAgent: string,
  nowSeconds: () => number,
): LookUp {
  const directories = new Map<string, KeyDirectory>();
  return async (host) => {
    const keys = signerAt(host) === null ? null : await fetchKeys(client, host, userAgent);
    if (keys === null) return { answer: 2, name: 'failed', keepSeconds: FAILED_SECONDS };
    directories.set(host, { host, fetchedAtSeconds: nowSeconds(), keys });
    const isWritten = text.write(JSON.stringify([...directories.values()]));
    return { answer: 1, name: isWritten ? 'fetched' : 'too_large', keepSeconds: FETCHED_SECONDS };
  };
}

async function fetchKeys(
  client: Pick<GuardedClient, 'request'>,
  host: string,
  userAgent: string,
): Promise<readonly DirectoryKey[] | null> {
  const outcome = await client.request({
    url: `https://${host}${DIRECTORY_PATH}`,
    method: 'GET',
    headers: {
      accept: 'application/http-message-signatures-directory+json',
      'accept-encoding': 'identity',
      'user-agent': userAgent,
    },
    timeoutMs: FETCH_MS_MAX,
    connectMs: CONNECT_MS_MAX,
    responseBytesMax: RESPONSE_BYTES_MAX,
  });
  if (outcome.kind === 'failed' || outcome.status !== 200) return null;
  return parseKeyDirectory(Buffer.from(outcome.body).toString());
}
