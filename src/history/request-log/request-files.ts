import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CustomerNumber } from '../../kernel/brand.ts';

/** The files of the request log: `requests/<customer>/<day>-<part>.log`; a day is one of UTC, as `20261128`. */

/** Folder in the data directory. */
const REQUESTS_NAME = 'requests';
const FILE_NAME = /^(?<day>\d{8})-(?<part>\d{4,8})\.log$/;

export interface RequestFile {
  readonly path: string;
  readonly customer: CustomerNumber;
  readonly day: string;
  readonly part: number;
  readonly bytes: number;
}

export function folderOfRequests(dataDir: string, customer: CustomerNumber): string {
  return join(dataDir, REQUESTS_NAME, String(customer));
}

export function nameOfRequests(day: string, part: number): string {
  return `${day}-${String(part).padStart(4, '0')}.log`;
}

/** Returns the files of a customer, or of all, oldest first. A missing folder counts as empty. */
export function listRequestFiles(dataDir: string, customer: CustomerNumber | null): readonly RequestFile[] {
  const root = join(dataDir, REQUESTS_NAME);
  const customers = customer === null ? namesIn(root).map(Number).filter(Number.isSafeInteger) : [customer];
  const files = customers.flatMap((number) => {
    const folder = folderOfRequests(dataDir, number as CustomerNumber);
    return namesIn(folder).flatMap((name): RequestFile[] => {
      const { day, part } = FILE_NAME.exec(name)?.groups ?? {};
      if (day === undefined || part === undefined) return [];
      const path = join(folder, name);
      const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      return [{ path, customer: number as CustomerNumber, day, part: Number(part), bytes }];
    });
  });
  return files.sort((a, b) => (a.day === b.day ? a.part - b.part : a.day < b.day ? -1 : 1));
}

export function removeRequestFile({ path }: RequestFile): void {
  rmSync(path, { force: true });
}

/** Removes the files of a customer; returns their number. */
export function removeRequestsOf(dataDir: string, customer: CustomerNumber): number {
  const files = listRequestFiles(dataDir, customer).length;
  rmSync(folderOfRequests(dataDir, customer), { recursive: true, force: true });
  return files;
}

/** Returns the day of a time, as in the names of files. */
export function dayOfRequests(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10).replaceAll('-', '');
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
