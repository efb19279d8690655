import { newCustomer } from './requests.ts';
import { startServer, type RunningServer } from './server.ts';

/** Servers that many test files ask in turn: a start takes longer than most of what is asked. */

export type SharedServer = Pick<RunningServer, 'url' | 'dataDir' | 'secretKey' | 'publicKey'>;

const running = new Map<string, Promise<RunningServer>>();

/**
 * A server without settings but for its transport, which may deliver to this machine, and a customer of its own on it. It may have
 * answered other tests of this process before and is left running: for tests that look at nothing that is the whole server's.
 */
export async function sharedServer(transport: 'uws' | 'node' = 'uws'): Promise<SharedServer> {
  const { url, dataDir } = await runningServer(transport);
  const { secretKey, publicKey } = await newCustomer(url, dataDir);
  return { url, dataDir, secretKey, publicKey };
}

function runningServer(transport: string): Promise<RunningServer> {
  const known = running.get(transport);
  if (known !== undefined) return known;
  const env = { GATEHOUSE_TRANSPORT: transport, GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' };
  const started = startServer({ env });
  running.set(transport, started);
  // One that did not come up is no reason for the next file to fail.
  started.catch(() => running.delete(transport));
  return started;
}
