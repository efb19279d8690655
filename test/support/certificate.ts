import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Writes a self-signed certificate of this machine and its key into the folder. */
export function makeCertificate(folder: string): { readonly certFile: string; readonly keyFile: string } {
  const certFile = join(folder, 'cert.pem');
  const keyFile = join(folder, 'key.pem');
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'];
  const made = spawnSync('openssl', [...words, '-keyout', keyFile, '-out', certFile]);
  if (made.status !== 0) throw new Error(`openssl ended with ${String(made.status)}: ${String(made.stderr)}`);
  return { certFile, keyFile };
}
