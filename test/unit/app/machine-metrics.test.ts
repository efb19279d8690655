import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { machineReadings } from '../../../src/app/machine-metrics.ts';
import { makeCertificate } from '../../support/certificate.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-machine-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** Samples of a metric as `label=value` pairs. */
function samples(name: string, tls: { readonly certFile: string; readonly keyFile: string } | null = null) {
  const readings = machineReadings({ dataDir, tls }, { version: '1.2.3', transport: 'uws' });
  const reading = readings.find((one) => one.name === name);
  if (reading?.kind !== 'levels') throw new Error(`no ${name}`);
  return [...reading.read()];
}

test('The build is a metric with its version, Node.js and the transport', () => {
  expect(samples('gatehouse_build_info')).toEqual([{ labels: ['1.2.3', process.versions.node, 'uws'], count: 1 }]);
});

test('The free disk of each folder that exists is a metric', () => {
  mkdirSync(join(dataDir, 'state'));
  mkdirSync(join(dataDir, 'backups'));
  const free = samples('gatehouse_disk_free_bytes');
  expect(free.map(({ labels }) => labels)).toEqual([['state'], ['backups']]);
  for (const { count } of free) expect(count).toBeGreaterThan(1_000_000);
});

test('The end of the certificate is a metric only if this server terminates TLS', () => {
  expect(samples('gatehouse_tls_certificate_expiry_seconds')).toEqual([]);
  const [only, ...others] = samples('gatehouse_tls_certificate_expiry_seconds', makeCertificate(dataDir));
  expect(others).toEqual([]);
  expect(only?.labels[0]).toContain('CN=');
  expect(only?.count).toBeGreaterThan(Date.now() / 1000);
});
