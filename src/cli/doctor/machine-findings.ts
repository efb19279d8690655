import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createSecureContext } from 'node:tls';
import { promisify } from 'node:util';
import { addressSpaceFault } from '../../app/address-space.ts';
import type { Settings } from '../../app/settings.ts';
import { descriptorsMax } from '../../http/descriptors.ts';
import { loadUws } from '../../http/load-uws.ts';
import { messageOf } from '../../state/tables/durable.ts';
import type { Health } from '../health-request.ts';
import { failed, fine, type DoctorFinding, warned } from './finding.ts';

/** What the machine gives to the server. Nothing is changed. */

/** Source: contract, 3.3. */
const CLOCK_SECONDS_MAX = 300;
/** Source: uWebSockets.js: its binaries for Node.js 24 and later need it. */
const GLIBC_OF_NODE_24 = [2, 38] as const;
/** Choice: some 1,000 connections and the files of the store. */
const DESCRIPTORS_MIN = 4_096;
/** Choice: certificates are renewed 30 days before their end; with less left, that has failed. */
const CERTIFICATE_DAYS_MIN = 14;
const DAY_MS = 86_400_000;

/** Asks systemd whether the clock follows a time server; without an answer nothing is known. */
export async function clockFinding(): Promise<DoctorFinding> {
  const limit = `requests more than ${CLOCK_SECONDS_MAX} s off are refused`;
  try {
    const words = ['show', '--property=NTPSynchronized', '--value'];
    const { stdout } = await promisify(execFile)('timedatectl', words, { timeout: 2_000 });
    if (stdout.trim() === 'yes') return fine('clock', `synchronised, ${new Date().toISOString()}`);
    if (stdout.trim() === 'no') {
      return warned(
        'clock',
        `not synchronised: ${limit}`,
        'run a time service, for example systemd-timesyncd or chrony',
      );
    }
  } catch {
    // A container, or a system without systemd: the host keeps the time.
  }
  return fine('clock', `${new Date().toISOString()}; whether it is synchronised is the matter of the host, ${limit}`);
}

export function runtimeFindings(): readonly DoctorFinding[] {
  const glibc = glibcVersion();
  const [major = 0] = process.versions.node.split('.').map(Number);
  const found = `Node.js ${process.versions.node}, ${process.platform} ${process.arch}`;
  const space = addressSpaceFault();
  const files = descriptorsMax();
  const isOld = glibc !== null && compareVersions(glibc, GLIBC_OF_NODE_24) < 0;
  return [
    process.platform === 'linux' && glibc === null
      ? failed(
          'glibc',
          `${found}, without glibc`,
          'use a system with glibc, such as Debian; Alpine (musl) does not work',
        )
      : isOld && major >= 24
        ? warned('glibc', `${found}, glibc ${glibc.join('.')}`, 'use glibc 2.38 or newer (Debian 13), or Node.js 22')
        : fine('glibc', `${found}${glibc === null ? '' : `, glibc ${glibc.join('.')}`}`),
    ...(space === null ? [] : [failed('memory', space, 'remove the limit of the address space')]),
    files < DESCRIPTORS_MIN
      ? warned('open files', `this process may open ${files}`, 'raise it: LimitNOFILE=65536, or ulimit -n 65536')
      : fine('open files', `up to ${files}`),
  ];
}

function glibcVersion(): readonly number[] | null {
  const report = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime?.split('.').map(Number) ?? null;
}

function compareVersions(one: readonly number[], other: readonly number[]): number {
  return (one[0] ?? 0) - (other[0] ?? 0) || (one[1] ?? 0) - (other[1] ?? 0);
}

/** A running server knows its own; otherwise it is loaded here. */
export function transportFinding(settings: Settings, health: Health): DoctorFinding {
  const slow = 'node:http serves about two thirds of the load';
  if (health.kind === 'report') {
    const { transport } = health.report;
    if (transport === '') return fine('transport', 'not known yet: the server is starting');
    const isWanted = transport === 'uws' || settings.transport === 'node';
    if (isWanted) return fine('transport', `the server runs on ${transport}`);
    return warned(
      'transport',
      `the server runs on ${transport}: ${slow}`,
      'its log says why uWebSockets.js is not used',
    );
  }
  if (settings.transport === 'node') return fine('transport', 'node, by GATEHOUSE_TRANSPORT');
  const loaded = loadUws(settings.dataDir);
  if (loaded.kind === 'loaded') return fine('transport', 'uWebSockets.js loads');
  const todo = 'install the optional packages (npm ci without --omit=optional) for this version of Node.js';
  return settings.transport === 'uws'
    ? failed('transport', `GATEHOUSE_TRANSPORT is uws, but ${loaded.detail}`, todo)
    : warned('transport', `${loaded.detail}: ${slow}`, todo);
}

/** The port is free, or a Gatehouse answers on it. */
export async function portFinding({ host, port }: Settings, health: Health): Promise<DoctorFinding> {
  const at = `${host}:${port}`;
  if (health.kind === 'report') {
    const { version, status } = health.report;
    return fine('port', `Gatehouse ${version} answers on ${at}, ${status}`);
  }
  const code = await bindFault(host, port);
  if (code === null) return fine('port', `${at} is free; no server runs`);
  const todo =
    code === 'EACCES'
      ? 'use a port from 1024 on behind a proxy, or give the process CAP_NET_BIND_SERVICE'
      : 'stop the other process (ss -ltnp shows it), or set GATEHOUSE_PORT and GATEHOUSE_HOST';
  return failed('port', `${at} cannot be used (${code}), and no Gatehouse answers there: ${health.detail}`, todo);
}

function bindFault(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

export function tlsFinding({ tls }: Settings): DoctorFinding {
  if (tls === null) return fine('TLS', 'none: a proxy must speak HTTPS, or clients must be on this machine');
  try {
    const cert = readFileSync(tls.certFile);
    createSecureContext({ cert, key: readFileSync(tls.keyFile) });
    const endsAtMs = Date.parse(new X509Certificate(cert).validTo);
    const days = Math.floor((endsAtMs - Date.now()) / DAY_MS);
    const renew = 'renew it, and restart the server';
    if (days < 0) return failed('TLS', `the certificate ended ${-days} days ago`, renew);
    if (days < CERTIFICATE_DAYS_MIN) return warned('TLS', `the certificate ends in ${days} days`, renew);
    return fine('TLS', `the certificate is valid for ${days} days`);
  } catch (error) {
    const todo = 'check GATEHOUSE_TLS_CERT and GATEHOUSE_TLS_KEY';
    return failed('TLS', `certificate and key cannot be used: ${messageOf(error)}`, todo);
  }
}
