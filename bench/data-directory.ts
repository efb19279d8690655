import { ensureUsable } from '../src/state/repair/ensure-usable.ts';

/** Creates an empty data directory the way a first start does. A store without its marker file would be treated as one that lost it. */
export async function makeDataDirectory(dataDir: string): Promise<void> {
  const usable = await ensureUsable({ dataDir, simulated: false, repair: true, nowMs: Date.now() });
  if (usable.kind === 'fault') throw new Error(usable.detail);
}
