import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CALM, decide } from './requests.ts';
import { startServer, type RunningServer } from './server.ts';

/** Starts a server whose policy copies every decision to the shadow review queue. */
export async function startSamplingServer(dataDir?: string): Promise<RunningServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-policy-'));
  const file = join(folder, 'policy.json');
  writeFileSync(file, JSON.stringify({ sample_rate: 1 }));
  const env = { GATEHOUSE_POLICY_FILE: file };
  const server = await startServer(dataDir === undefined ? { env } : { env, dataDir });
  const stop: RunningServer['stop'] = async (signal) => {
    const code = await server.stop(signal);
    rmSync(folder, { recursive: true, force: true });
    return code;
  };
  return { ...server, stop };
}

/** Makes a decision and returns its id. */
export async function decided(url: string, key: string, token: string = randomUUID()): Promise<string> {
  const answer = await decide(url, key, { ...CALM, session_token: token });
  if (answer.status !== 200) throw new Error(`decide returned ${answer.status}`);
  return String(answer.json['request_id']);
}
