import { accessSync, constants, mkdirSync, rmdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from './durable.ts';

/**
 * Makes a folder and those above it, and returns the ones that it made, outermost first. Throws the system's error.
 * Choice: not `mkdirSync` with `recursive`, which never returns where the system refuses a folder with ENOENT, as under `/proc`
 * (Node.js 20).
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
      // Another process was faster.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
  return made;
}

/** Why a data directory cannot be used; null where it can. Removes again what it makes to find out. */
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
    // Another process has begun to use it.
  }
}
