import { readFileSync, writeFileSync } from 'node:fs';

/** What a process uses, as Linux tells it; elsewhere NaN. */
export interface ProcessUsage {
  /** Of all its threads, since it began. */
  readonly cpuMs: number;
  readonly residentMb: number;
  /** Of that, what is no part of a file: pages of the store are, and the system takes them back when it wants. */
  readonly ownMb: number;
  /** The most since the process began, or since `forgetPeak`. */
  readonly peakMb: number;
  /** Pages of the store that are mapped now: the system's file cache, which it takes back when it wants. */
  readonly storeMb: number;
}

/** Linux counts in hundredths of a second. */
const TICK_MS = 10;

export function usageOf(pid: number | undefined): ProcessUsage {
  const status = read(pid, 'status');
  // Behind the name, which may hold anything.
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

/** Of the mappings of LMDB's files. */
function storeKb(smaps: string): number {
  let sum = 0;
  let isStore = false;
  for (const line of smaps.split('\n')) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) isStore = line.endsWith('/data.mdb');
    else if (isStore && line.startsWith('Rss:')) sum += Number(/\d+/.exec(line)?.[0]);
  }
  return sum;
}

/** The peak of a process counts from now on. */
export function forgetPeak(pid: number | undefined): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Then it is that of the whole process.
  }
}

function read(pid: number | undefined, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
