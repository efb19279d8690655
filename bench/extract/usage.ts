import { readFileSync, writeFileSync } from 'node:fs';

/** Resource usage of a process as reported by Linux; NaN on other systems. */
export interface ProcessUsage {
  /** Processor time of all threads since the process began. */
  readonly cpuMs: number;
  readonly residentMb: number;
  /**
   * Part of `residentMb` that does not belong to a file. Pages of the store do belong to one, and the system reclaims them when it needs
   * memory.
   */
  readonly ownMb: number;
  /** Peak resident memory since the process began, or since `forgetPeak`. */
  readonly peakMb: number;
  /** Pages of the store that are mapped now: the system's file cache, which it reclaims when it needs memory. */
  readonly storeMb: number;
}

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

export function usageOf(pid: number | undefined): ProcessUsage {
  const status = read(pid, 'status');
  // Skips the process name, which may contain any character.
  const stat = read(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
  const mb = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1.024e-3;
  return {
    cpuMs: (Number(stat[11]) + Number(stat[12])) * TICK_MS,
    residentMb: mb('VmRSS'),
    ownMb: mb('RssAnon') + mb('RssShmem'),
    peakMb: mb('VmHWM'),
    storeMb: storeKb(read(pid, 'smaps')) * 1.024e-3,
  };
}

/** Sums the resident pages of the mappings of LMDB's files. */
function storeKb(smaps: string): number {
  let sum = 0;
  let isStore = false;
  for (const line of smaps.split('\n')) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) isStore = line.endsWith('/data.mdb');
    else if (isStore && line.startsWith('Rss:')) sum += Number(/\d+/.exec(line)?.[0]);
  }
  return sum;
}

/** Resets the peak memory of a process. */
export function forgetPeak(pid: number | undefined): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Without permission the peak stays that of the whole process lifetime.
  }
}

function read(pid: number | undefined, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
