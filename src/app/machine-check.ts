import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { addressSpaceFault } from './address-space.ts';
import { loadUws } from '../http/load-uws.ts';
import { policyStartFaults } from '../assets/policy-read.ts';
import { dataDirFault } from '../state/repair/data-dir.ts';

/**
 * Returns one text for each setting that is well-formed but cannot be used on this machine. Reads the environment instead of the parsed
 * settings, so that these faults are reported together with malformed settings. Changes nothing.
 */
export async function faultsOfMachine(env: NodeJS.ProcessEnv): Promise<string[]> {
  const addressSpace = addressSpaceFault();
  // First, and alone: what follows would end the process.
  if (addressSpace !== null) return [addressSpace];
  const faults: string[] = [];
  const dataDir = dataDirFault(resolve(env['GATEHOUSE_DATA_DIR'] || './data'));
  if (dataDir !== null) faults.push(`GATEHOUSE_DATA_DIR cannot be used: ${dataDir}`);
  const { GATEHOUSE_TLS_CERT: certFile, GATEHOUSE_TLS_KEY: keyFile } = env;
  if (certFile && keyFile) {
    try {
      createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      faults.push(`GATEHOUSE_TLS_CERT and GATEHOUSE_TLS_KEY cannot be used: ${detail}`);
    }
  }
  const policyFile = env['GATEHOUSE_POLICY_FILE'];
  if (policyFile) faults.push(...(await policyStartFaults(policyFile)));
  if (env['GATEHOUSE_TRANSPORT'] === 'uws') {
    const loaded = loadUws(resolve(env['GATEHOUSE_DATA_DIR'] || './data'));
    if (loaded.kind === 'unavailable') faults.push(`GATEHOUSE_TRANSPORT is uws, but ${loaded.detail}`);
  }
  return faults;
}
