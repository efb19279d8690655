import { ensureUsable } from '../src/store/ensure-usable.ts';

/** Makes an empty data directory as a first start makes one: a store without its marker is one whose marker was lost. */
export async function makeDataDirectory(dataDir: string): Promise<void> {
  const usable = await ensureUsable({ dataDir, simulated: false, repair: true, nowMs: Date.now() });
  if (usable.kind === 'fault') throw new Error(usable.detail);
}
