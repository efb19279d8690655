import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Writes a self-signed certificate of this machine and its key into the folder. */
export function makeCertificate(folder: string): { readonly certFile: string; readonly keyFile: string } {
  const certFile = join(folder, 'cert.pem');
  const keyFile = join(folder, 'key.pem');
  // An RSA key takes 0.3 s of processor time.
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const words = ['req', '-x509', ...key, '-days', '2', '-subj', '/CN=localhost'];
  const made = spawnSync('openssl', [...words, '-keyout', keyFile, '-out', certFile]);
  if (made.status !== 0) throw new Error(`openssl ended with ${String(made.status)}: ${String(made.stderr)}`);
  return { certFile, keyFile };
}
