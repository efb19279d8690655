import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type EgressPolicy, judgeAddress } from './address.ts';
import { type EgressFault, faultOf } from './faults.ts';
import type { Resolver } from './resolver.ts';
import type { Target } from './target.ts';
import type { TimerWheel } from './timer-wheel.ts';

/**
 * Opens a connection to a permitted address. This is the one place of the service that dials: it judges every address that it
 * dials, in the spelling in which it dials it, and the peer of the socket once more.
 */

export interface TcpOptions {
  /** An IP address, never a name. */
  readonly host: string;
  readonly port: number;
}

export interface Dialling {
  readonly resolver: Resolver;
  readonly wheel: TimerWheel;
  /** Opens a TCP connection; `net.connect` but in tests. */
  readonly connect: (options: TcpOptions) => Socket;
  /** PEM of authorities to trust instead of the system's. */
  readonly ca: string | undefined;
  readonly policy: () => EgressPolicy;
  readonly onBlocked: () => void;
}

export type Dialled =
  | { readonly kind: 'connected'; readonly socket: Socket; readonly remoteAddress: string }
  | ({ readonly kind: 'failed' } & EgressFault);

/** Choice: addresses of one name that are tried; each has an equal part of the time that is left. */
const ATTEMPTS_MAX = 4;
/** Choice: a page of undici's own connector; larger reads mean fewer calls. */
const READ_BYTES = 65_536;

export function dialTcp({ host, port }: TcpOptions): Socket {
  const options = { host, port, noDelay: true, autoSelectFamily: false, highWaterMark: READ_BYTES };
  return connectTcp(options);
}

/**
 * Looks up and connects within `connectMs`, then shakes hands for as long as `signal` allows, which also ends all of it at once.
 * Choice: addresses one after the other in the resolver's order, not side by side: a request never has two sockets.
 */
export async function dial(target: Target, connectMs: number, by: Dialling, signal: AbortSignal): Promise<Dialled> {
  const limit = new AbortController();
  const endsAtMs = by.wheel.nowMs() + connectMs;
  const deadline = by.wheel.add(connectMs, () => limit.abort());
  const onAbort = (): void => limit.abort();
  signal.addEventListener('abort', onAbort, { once: true });
  const connected = await lookUpAndConnect(target, endsAtMs, by, limit.signal);
  by.wheel.cancel(deadline);
  signal.removeEventListener('abort', onAbort);
  if (connected.kind === 'failed' || !target.isSecure) return connected;
  return shakeHands(connected, target, by.ca, signal);
}

async function lookUpAndConnect(target: Target, endsAtMs: number, by: Dialling, limit: AbortSignal): Promise<Dialled> {
  const candidates = await addressesOf(target, by, limit);
  if (candidates.kind === 'failed') return candidates;
  const detail = `no connection to ${target.host} in time`;
  let last: Extract<Dialled, { kind: 'failed' }> = { kind: 'failed', error: 'connect_timeout', detail };
  for (const [i, host] of candidates.addresses.entries()) {
    if (limit.aborted) break;
    const shareMs = (endsAtMs - by.wheel.nowMs()) / (candidates.addresses.length - i);
    const next: Dialled = await connectOnce({ host, port: target.port }, shareMs, by, limit);
    if (next.kind === 'connected') return next;
    // An address that this machine could not try may well be the one that answers.
    last = last.lack === undefined || next.lack !== undefined ? next : { ...next, lack: last.lack };
  }
  return last;
}

type Candidates =
  | { readonly kind: 'permitted'; readonly addresses: readonly string[] }
  | ({ readonly kind: 'failed' } & EgressFault);

/** The permitted ones of the target's addresses, each once, in canonical spelling. */
async function addressesOf(target: Target, by: Dialling, limit: AbortSignal): Promise<Candidates> {
  const found = target.isLiteral
    ? { kind: 'found' as const, addresses: [target.host] }
    : await by.resolver.resolve(target.host, limit);
  if (found.kind === 'failed') return { ...found, error: 'dns_error' };
  const policy = by.policy();
  const permitted = new Set<string>();
  let why = '';
  for (const address of found.addresses) {
    const verdict = judgeAddress(address, target.port, policy);
    if (verdict.kind === 'permitted') permitted.add(verdict.text);
    else {
      by.onBlocked();
      why = verdict.detail;
    }
  }
  if (permitted.size === 0) return { kind: 'failed', error: 'blocked_address', detail: why };
  return { kind: 'permitted', addresses: [...permitted].slice(0, ATTEMPTS_MAX) };
}

function connectOnce(options: TcpOptions, shareMs: number, by: Dialling, limit: AbortSignal): Promise<Dialled> {
  return new Promise((resolve) => {
    const socket = by.connect(options);
    const settle = (outcome: Dialled): void => {
      by.wheel.cancel(deadline);
      limit.removeEventListener('abort', onLate);
      socket.off('connect', onConnect).off('error', onError);
      // Whatever this socket reports later is told by its closing.
      socket.on('error', ignore);
      if (outcome.kind === 'failed') socket.destroy();
      resolve(outcome);
    };
    const onLate = (): void => {
      const detail = `no connection to ${options.host} port ${options.port} in time`;
      settle({ kind: 'failed', error: 'connect_timeout', detail });
    };
    const onError = (error: Error): void => settle({ kind: 'failed', ...faultOf(error, 'connect') });
    const onConnect = (): void => settle(checkPeer(socket, options, by));
    const deadline = by.wheel.add(shareMs, onLate);
    limit.addEventListener('abort', onLate, { once: true });
    socket.on('connect', onConnect).on('error', onError);
  });
}

function ignore(): void {}

/** The system says where the connection leads: not a byte goes to a peer that may not be reached. */
function checkPeer(socket: Socket, { port }: TcpOptions, by: Dialling): Dialled {
  const remoteAddress = socket.remoteAddress;
  if (remoteAddress === undefined)
    return { kind: 'failed', error: 'connection_reset', detail: 'the connection ended at once' };
  const verdict = judgeAddress(remoteAddress, socket.remotePort ?? port, by.policy());
  if (verdict.kind === 'permitted') return { kind: 'connected', socket, remoteAddress: verdict.text };
  by.onBlocked();
  return { kind: 'failed', error: 'blocked_address', detail: `the peer: ${verdict.detail}` };
}

/** Verified against the host that the URL names; an address has no server name, its certificate must name the address. */
function shakeHands(
  { socket: plain, remoteAddress }: Extract<Dialled, { kind: 'connected' }>,
  { host, isLiteral }: Target,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<Dialled> {
  return new Promise((resolve) => {
    const name = isLiteral ? {} : { servername: host.endsWith('.') ? host.slice(0, -1) : host };
    const authorities = ca === undefined ? {} : { ca };
    // Said outright, or NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would take any certificate.
    const verified = { rejectUnauthorized: true, ...name, ...authorities };
    const socket = connectTls({ socket: plain, host, ALPNProtocols: ['http/1.1'], ...verified });
    const settle = (outcome: Dialled): void => {
      signal.removeEventListener('abort', onLate);
      socket.off('secureConnect', onSecure).off('error', onError).off('close', onClose);
      socket.on('error', ignore);
      if (outcome.kind === 'failed') {
        socket.destroy();
        plain.destroy();
      }
      resolve(outcome);
    };
    const onLate = (): void => settle({ kind: 'failed', error: 'timeout', detail: 'no TLS handshake in time' });
    const onError = (error: Error): void => settle({ kind: 'failed', ...faultOf(error, 'tls') });
    const onClose = (): void =>
      settle({ kind: 'failed', error: 'connection_reset', detail: 'closed in the TLS handshake' });
    const onSecure = (): void => settle({ kind: 'connected', socket, remoteAddress });
    socket.on('secureConnect', onSecure).on('error', onError).on('close', onClose);
    if (signal.aborted) onLate();
    else signal.addEventListener('abort', onLate, { once: true });
  });
}
