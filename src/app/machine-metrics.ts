import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reading } from '../observe/reading.ts';
import { BACKUPS_NAME } from '../state/repair/backup.ts';
import { freeBytes } from '../state/tables/disk-room.ts';
import { ENVIRONMENT_NAMES } from '../state/tables/table-names.ts';
import type { Settings } from './settings.ts';

/** Folders of the data directory that may be on disks of their own. */
const FOLDERS = [...ENVIRONMENT_NAMES, BACKUPS_NAME];

/** Metrics of the build and of the machine: version, free disk, and the certificate, if this server terminates TLS. */
export function machineReadings(
  { dataDir, tls }: Pick<Settings, 'dataDir' | 'tls'>,
  { version, transport }: { readonly version: string; readonly transport: string },
): readonly Reading[] {
  const certificate = tls === null ? null : expiryOf(tls.certFile);
  return [
    {
      name: 'gatehouse_build_info',
      help: 'Always 1; the labels have the version, and what it runs on.',
      kind: 'levels',
      labels: ['version', 'node', 'transport'],
      read: () => [{ labels: [version, process.versions.node, transport], count: 1 }],
    },
    {
      name: 'gatehouse_disk_free_bytes',
      help: 'Bytes that this process may still write to the disk of each folder of the data directory.',
      kind: 'levels',
      labels: ['folder'],
      read: () =>
        FOLDERS.flatMap((folder) => {
          const free = freeBytes(join(dataDir, folder));
          return free === null ? [] : [{ labels: [folder], count: free }];
        }),
    },
    {
      name: 'gatehouse_tls_certificate_expiry_seconds',
      help: 'When the certificate expires that this server serves, Unix seconds; without TLS there is none.',
      kind: 'levels',
      labels: ['subject'],
      read: () => (certificate === null ? [] : [{ labels: [certificate.subject], count: certificate.atSeconds }]),
    },
  ];
}

/** Reads the file once, as the transport does: a renewed file is served after a restart. */
function expiryOf(certFile: string): { readonly subject: string; readonly atSeconds: number } | null {
  try {
    const { validTo, subject } = new X509Certificate(readFileSync(certFile));
    return { subject: subject.replaceAll('\n', ', '), atSeconds: Date.parse(validTo) / 1000 };
  } catch {
    // The transport could read it, or the start would have failed: it has been replaced meanwhile.
    return null;
  }
}
