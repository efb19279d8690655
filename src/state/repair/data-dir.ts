import { accessSync, constants, mkdirSync, rmdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../tables/durable.ts';

/**
 * Creates a folder and its missing parents, and returns the created ones, outermost first. Throws the system's error.
 * Choice: not `mkdirSync` with `recursive`, which never returns if the system refuses a folder with ENOENT, as under `/proc` (Node.js 20).
 */
export function makeFolders(folder: string): string[] {
  const missing: string[] = [];
  for (let at = resolve(folder); statSync(at, { throwIfNoEntry: false }) === undefined; at = dirname(at)) {
    missing.unshift(at);
  }
  const made: string[] = [];
  for (const path of missing) {
    try {
      mkdirSync(path);
      made.push(path);
    } catch (error) {
      // Another process created it first.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
  return made;
}

/** Returns why a data directory cannot be used; null if it can. Removes the folders it creates for the check. */
export function dataDirFault(dataDir: string): string | null {
  let made: readonly string[] = [];
  try {
    made = makeFolders(dataDir);
    if (!statSync(dataDir).isDirectory()) return `${dataDir} is not a folder`;
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return `${dataDir} cannot be ${isFolder(dataDir) ? 'written' : 'made'}: ${messageOf(error)}`;
  } finally {
    for (const path of made.toReversed()) removeEmpty(path);
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function removeEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Another process has started using it.
  }
}
