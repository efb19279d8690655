import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type EgressPolicy, judgeAddress } from './public-address.ts';
import { type EgressFault, faultOf } from './faults.ts';
import type { Resolver } from './resolver.ts';
import type { Target } from './egress-target.ts';
import type { TimerWheel } from './timer-wheel.ts';

/**
 * Opens a connection to a permitted address. This is the only place in the service that dials. It checks every address in exactly the
 * spelling that it dials, and then checks the peer address of the connected socket.
 */

export interface TcpOptions {
  /** An IP address, never a name. */
  readonly host: string;
  readonly port: number;
}

export interface Dialling {
  readonly resolver: Resolver;
  readonly wheel: TimerWheel;
  /** Opens a TCP connection; replaced only in tests. */
  readonly connect: (options: TcpOptions) => Socket;
  /** PEM of the certificate authorities to trust instead of the system's. */
  readonly ca: string | undefined;
  readonly policy: () => EgressPolicy;
  readonly onBlocked: () => void;
}

export type Dialled =
  | { readonly kind: 'connected'; readonly socket: Socket; readonly remoteAddress: string }
  | ({ readonly kind: 'failed' } & EgressFault);

/** Choice: maximum number of addresses tried for one name. Each address gets an equal share of the remaining time. */
const ATTEMPTS_MAX = 4;
/** Choice: the buffer size of undici's own connector. Larger reads mean fewer calls. */
const READ_BYTES = 65_536;

export function dialTcp({ host, port }: TcpOptions): Socket {
  const options = { host, port, noDelay: true, autoSelectFamily: false, highWaterMark: READ_BYTES };
  return connectTcp(options);
}

/**
 * Resolves the name and connects within `connectMs`. The TLS handshake may then take until `signal` aborts, which also cancels every
 * earlier step.
 * Choice: addresses are tried one after the other in the resolver's order, not in parallel, so a request never has two sockets.
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
    // Keep an earlier `lack`: the address that this machine could not try may be the one that works.
    last = last.lack === undefined || next.lack !== undefined ? next : { ...next, lack: last.lack };
  }
  return last;
}

type Candidates =
  | { readonly kind: 'permitted'; readonly addresses: readonly string[] }
  | ({ readonly kind: 'failed' } & EgressFault);

/** Returns the permitted addresses of the target, without duplicates, in canonical spelling. */
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
      // Later errors of this socket need no handling: its `close` event reports them.
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

/** Checks where the operating system says the connection leads. No byte is sent to a peer that is blocked. */
function checkPeer(socket: Socket, { port }: TcpOptions, by: Dialling): Dialled {
  const remoteAddress = socket.remoteAddress;
  if (remoteAddress === undefined)
    return { kind: 'failed', error: 'connection_reset', detail: 'the connection was closed at once' };
  const verdict = judgeAddress(remoteAddress, socket.remotePort ?? port, by.policy());
  if (verdict.kind === 'permitted') return { kind: 'connected', socket, remoteAddress: verdict.text };
  by.onBlocked();
  return { kind: 'failed', error: 'blocked_address', detail: `the connected peer is blocked: ${verdict.detail}` };
}

/** Verifies the certificate against the host of the URL. An IP address has no server name, so its certificate must name the address. */
function shakeHands(
  { socket: plain, remoteAddress }: Extract<Dialled, { kind: 'connected' }>,
  { host, isLiteral }: Target,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<Dialled> {
  return new Promise((resolve) => {
    const name = isLiteral ? {} : { servername: host.endsWith('.') ? host.slice(0, -1) : host };
    const authorities = ca === undefined ? {} : { ca };
    // Set explicitly. Otherwise NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would accept any certificate.
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
